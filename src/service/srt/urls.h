#pragma once
// What the service knows of the URLs of SRT (service/url/protocol.h).

#include "service/url/protocol.h"

namespace service::srt {

const url::Part* url_part();

}  // namespace service::srt
