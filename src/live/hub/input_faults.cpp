#include "live/hub/input_faults.h"

#include <numeric>

#include "base/text.h"
#include "runtime/loop/clock.h"

namespace live {

namespace {

constexpr size_t kMaxText = 160;

InputFaults::Counts& all() {
    static InputFaults::Counts counts{};
    return counts;
}

}  // namespace

std::string_view InputFaults::name(Kind kind) {
    constexpr std::array<std::string_view, kKinds> kNames{"video", "audio", "data", "codec", "message"};
    return kNames[kind];
}

const InputFaults::Counts& InputFaults::totals() { return all(); }

uint64_t InputFaults::total() const { return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0}); }

void InputFaults::add(Kind kind, std::string_view why) {
    static runtime::LogLimit of_all;  // a client may publish again and again
    ++counts_[kind];
    ++all()[kind];
    last_text_ = base::for_log(why, kMaxText);
    last_ms_ = runtime::now_ms();
    if (!log_.admits(last_ms_)) return;
    runtime::warn_some(of_all, "{}: dropped ({}): {}{}", publisher_, name(kind), last_text_, log_.take_left_out());
}

}  // namespace live
