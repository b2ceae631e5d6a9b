#include "server/services.h"

#define SERVICE(name)                       \
    namespace service::name {               \
    const service::Description& describe(); \
    }
#include "server/services.inc"
#undef SERVICE

namespace server {

std::span<const service::Description* const> services() {
#define SERVICE(name) &service::name::describe(),
    static const service::Description* const kServices[] = {
#include "server/services.inc"
    };
#undef SERVICE
    return kServices;
}

}  // namespace server
