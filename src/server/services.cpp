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

void add_sections() {
    for (const service::Description* one : services())
        if (one->section.add_rows) config::add_section(one->section);
}

}  // namespace server
