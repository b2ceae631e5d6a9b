#pragma once
// What the service knows of the URLs of RTSP (service/url/protocol.h).

#include "service/url/protocol.h"

namespace service::rtsp {

const url::Part* url_part();

}  // namespace service::rtsp
