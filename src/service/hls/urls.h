#pragma once
// What the service knows of the URLs of HLS and DASH (service/url/protocol.h).

#include "service/url/protocol.h"

namespace service::hls {

const url::Part* url_part();

}  // namespace service::hls
