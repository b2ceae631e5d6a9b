#pragma once
// What the service knows of the URLs of WebRTC (service/url/protocol.h).

#include "service/url/protocol.h"

namespace service::rtc {

const url::Part* url_part();

}  // namespace service::rtc
