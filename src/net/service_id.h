#pragma once
// The id of this run of the server: `service` in the API's answers, service_id in hooks.

#include <string>

#include "runtime/loop/coroutine.h"

namespace net {

inline const std::string& service_id() {
    static const std::string id = runtime::new_context_id();
    return id;
}

}  // namespace net
