#pragma once
// HandoverState: what a service of a process that is replaced leaves to the same service of its successor: an anonymous
// file (memfd), by the name of the service. The process that is replaced puts it there, and the upgrade passes it on;
// in the successor it is there before the service gives over to that (service::Module::give_over). Whose upgrade fails
// at that moment finds its own.
//
// For the loop's thread.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/socket/process_channel.h"

namespace runtime {

inline constexpr size_t kMaxHandoverStates = 16;

struct HandoverState {
    std::string service{};
    OwnedDescriptors file{};  // one
};

// Instead of an earlier one of that service. Without a descriptor, or beyond kMaxHandoverStates, it is dropped.
void leave_state(HandoverState state);
// No descriptor: there is none.
OwnedDescriptors take_left_state(std::string_view service);
// All that are there, in the order in which they came.
std::vector<HandoverState> take_left_states();

}  // namespace runtime
