#pragma once
// What the service knows of the URLs of live streams over HTTP (service/url/protocol.h).

#include "service/url/protocol.h"

namespace service::http_live {

const url::Part* url_part();

}  // namespace service::http_live
