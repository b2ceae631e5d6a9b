#pragma once
// InputFaults: what a publisher sent that cannot be used and was dropped, while its publication goes on. Counted by
// kind; the first one of a minute is logged. One for each publisher.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/loop/log_limit.h"

namespace live {

class InputFaults {
  public:
    // kCodec: of a codec that is not known. kMessage: a control message, a command, an aggregate.
    enum Kind : uint8_t { kVideo, kAudio, kData, kCodec, kMessage };
    static constexpr size_t kKinds = 5;
    using Counts = std::array<uint64_t, kKinds>;

    // publisher: in the log, a literal: "RTMP publish".
    explicit InputFaults(std::string_view publisher) : publisher_(publisher) {}

    void add(Kind kind, std::string_view why);

    const Counts& counts() const { return counts_; }
    uint64_t total() const;
    // Text and time of the last fault. last_ms: by the loop's clock; 0: there was none.
    const std::string& last_text() const { return last_text_; }
    int64_t last_ms() const { return last_ms_; }

    static std::string_view name(Kind kind);  // "video"
    // The faults of all publishers of this process.
    static const Counts& totals();

  private:
    const std::string_view publisher_;
    Counts counts_{};
    std::string last_text_;
    int64_t last_ms_ = 0;
    runtime::LogLimit log_{1, 60'000};
};

}  // namespace live
