#pragma once
// What the service knows of the URLs of RTMP (service/url/protocol.h).

#include "service/url/protocol.h"

namespace service::rtmp {

const url::Part* url_part();

}  // namespace service::rtmp
