#pragma once
// FigureRecord: the figures of one subject, of each second for an hour and of each minute for a day. Pure.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "service/api/history/figure_series.h"

namespace service::api {

// How figures of several seconds become one.
enum class Merge : uint8_t { kMean, kMax, kSum };

struct FigureSpec {
    std::string_view name;  // in the API, a literal
    Merge merge = Merge::kMean;
    int scale = 1;  // stored values are that many times the figure
};

// Points at equal distances.
struct FigurePoints {
    uint32_t from_s = 0;  // the time of the first one
    uint32_t step_s = 1;
    std::vector<bool> present{};                // by point
    std::vector<std::vector<double>> values{};  // by figure, then by point; empty: 0 throughout
};

class FigureRecord {
  public:
    static constexpr uint32_t kSecondsKept = 3'600, kMinutesKept = 1'440;
    static constexpr size_t kMaxBytes = 64 * 1024;  // what varies without end keeps less than an hour

    // specs: must outlive it; at most FigureSeries::kMaxColumns.
    explicit FigureRecord(std::span<const FigureSpec> specs)
        : specs_(specs), seconds_(specs.size(), 60), minutes_(specs.size(), 30) {}

    // One scaled value for each figure. second: of a clock that never goes back.
    void append(uint32_t second, std::span<const uint64_t> values);
    // No second follows soon.
    void rest();
    // Drops what is too old.
    void trim(uint32_t now_s);
    // Drops seconds, then minutes, the oldest first, until it has at most so many bytes, as far as possible.
    void shrink(size_t bytes);

    // Without a row the points are not present. step_s below 60: of seconds, else of minutes, and a multiple of 60.
    FigurePoints points(uint32_t from_s, size_t count, uint32_t step_s) const;

    std::span<const FigureSpec> specs() const { return specs_; }
    std::optional<uint32_t> first_s(uint32_t step_s) const;
    std::optional<uint32_t> last_s() const;
    size_t bytes() const { return seconds_.bytes() + minutes_.bytes(); }

  private:
    void add_to_minute(uint32_t second, std::span<const uint64_t> values);
    void end_minute();

    std::span<const FigureSpec> specs_;
    FigureSeries seconds_, minutes_;
    // The minute that is not over.
    uint32_t minute_ = 0, minute_seconds_ = 0;
    std::array<uint64_t, FigureSeries::kMaxColumns> minute_values_{};
};

}  // namespace service::api
