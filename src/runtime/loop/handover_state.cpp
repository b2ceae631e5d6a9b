#include "runtime/loop/handover_state.h"

#include <algorithm>
#include <utility>

#include "runtime/loop/immortal.h"

namespace runtime {

namespace {

std::vector<HandoverState>& states() {
    static detail::Immortal<std::vector<HandoverState>> all;
    return all.value;
}

}  // namespace

void leave_state(HandoverState state) {
    static_cast<void>(take_left_state(state.service));
    if (state.file.size() == 1 && states().size() < kMaxHandoverStates) states().push_back(std::move(state));
}

OwnedDescriptors take_left_state(std::string_view service) {
    const auto found = std::ranges::find(states(), service, &HandoverState::service);
    if (found == states().end()) return {};
    OwnedDescriptors file = std::move(found->file);
    states().erase(found);
    return file;
}

std::vector<HandoverState> take_left_states() { return std::exchange(states(), {}); }

}  // namespace runtime
