#include "service/api/history/figure_record.h"

#include <algorithm>

#include "service/api/history/figure_code.h"

namespace service::api {

void FigureRecord::append(uint32_t second, std::span<const uint64_t> values) {
    std::array<uint16_t, FigureSeries::kMaxColumns> codes;
    for (size_t i = 0; i < specs_.size(); ++i) codes[i] = encode_figure(values[i]);
    seconds_.append(second, {codes.data(), specs_.size()});
    add_to_minute(second, values);
}

void FigureRecord::add_to_minute(uint32_t second, std::span<const uint64_t> values) {
    if (minute_seconds_ > 0 && second / 60 != minute_) end_minute();
    minute_ = second / 60;
    ++minute_seconds_;
    for (size_t i = 0; i < specs_.size(); ++i) {
        uint64_t& all = minute_values_[i];
        all = specs_[i].merge == Merge::kMax ? std::max(all, values[i]) : all + values[i];
    }
}

void FigureRecord::end_minute() {
    if (minute_seconds_ == 0) return;
    std::array<uint16_t, FigureSeries::kMaxColumns> codes;
    for (size_t i = 0; i < specs_.size(); ++i) {
        const bool is_mean = specs_[i].merge == Merge::kMean;
        codes[i] =
            encode_figure(is_mean ? (minute_values_[i] + minute_seconds_ / 2) / minute_seconds_ : minute_values_[i]);
    }
    minutes_.append(minute_, {codes.data(), specs_.size()});
    minute_seconds_ = 0;
    minute_values_ = {};
}

void FigureRecord::rest() {
    end_minute();
    seconds_.rest();
    minutes_.rest();
}

void FigureRecord::trim(uint32_t now_s) {
    if (now_s > kSecondsKept) seconds_.drop_before(now_s - kSecondsKept);
    if (now_s / 60 > kMinutesKept) minutes_.drop_before(now_s / 60 - kMinutesKept);
}

void FigureRecord::shrink(size_t limit) {
    while (bytes() > limit && seconds_.drop_oldest()) {
    }
    while (bytes() > limit && minutes_.drop_oldest()) {
    }
}

std::optional<uint32_t> FigureRecord::first_s(uint32_t step_s) const {
    if (step_s < 60) return seconds_.first_slot();
    if (const auto minute = minutes_.first_slot()) return *minute * 60;
    return minute_seconds_ > 0 ? std::optional(minute_ * 60) : std::nullopt;
}

std::optional<uint32_t> FigureRecord::last_s() const { return seconds_.last_slot(); }

FigurePoints FigureRecord::points(uint32_t from_s, size_t count, uint32_t step_s) const {
    const bool of_seconds = step_s < 60;
    const uint32_t slot_s = of_seconds ? 1 : 60;
    FigurePoints points{.from_s = from_s, .step_s = step_s};
    points.values.resize(specs_.size());
    std::vector<uint32_t> rows(count);
    const auto add = [&](uint32_t slot, const auto& value_of) {
        const size_t at = (slot * slot_s - from_s) / step_s;
        if (at >= count) return;
        ++rows[at];
        for (size_t i = 0; i < specs_.size(); ++i) {
            const auto value = static_cast<double>(value_of(i));
            if (value == 0) continue;
            if (points.values[i].empty()) points.values[i].resize(count);
            double& all = points.values[i][at];
            all = specs_[i].merge == Merge::kMax ? std::max(all, value) : all + value;
        }
    };
    const uint32_t begin = (from_s + slot_s - 1) / slot_s;
    const auto end = static_cast<uint32_t>((from_s + count * step_s + slot_s - 1) / slot_s);
    (of_seconds ? seconds_ : minutes_).visit(begin, end, [&](uint32_t slot, const uint16_t* codes) {
        add(slot, [&](size_t i) { return decode_figure(codes[i]); });
    });
    if (!of_seconds && minute_seconds_ > 0 && minute_ >= begin && minute_ < end)
        add(minute_, [&](size_t i) {
            return specs_[i].merge == Merge::kMean ? minute_values_[i] / minute_seconds_ : minute_values_[i];
        });
    for (const uint32_t n : rows) points.present.push_back(n > 0);
    for (size_t i = 0; i < specs_.size(); ++i)
        for (size_t at = 0; at < points.values[i].size(); ++at)
            if (rows[at] > 0)
                points.values[i][at] /= specs_[i].scale * (specs_[i].merge == Merge::kMean ? rows[at] : 1.0);
    return points;
}

}  // namespace service::api
