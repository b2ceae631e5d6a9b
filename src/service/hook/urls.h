#pragma once
// What the service knows of URLs: hooks, which decide about clients of every protocol (service/url/protocol.h).

#include "service/url/protocol.h"

namespace service::hook {

const url::Part* url_part();

}  // namespace service::hook
