#include "runtime/loop/services.h"

#include <array>
#include <utility>

namespace runtime::detail {
namespace {
std::array<void (*)(), static_cast<size_t>(Service::kCount)> started{};
}

void stop_at_shutdown(Service service, void (*stop)()) { started[static_cast<size_t>(service)] = stop; }

void stop_services() {
    for (auto& stop : started)
        if (auto* end = std::exchange(stop, nullptr)) end();
}

}  // namespace runtime::detail
