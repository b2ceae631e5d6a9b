#include "load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace load {

namespace {
constexpr int kPrecisionBits = 6;
constexpr uint64_t kPerDoubling = uint64_t{1} << kPrecisionBits;
}  // namespace

// Values below 2 * kPerDoubling have a bucket each; above, each doubling is divided into kPerDoubling buckets.
size_t Histogram::bucket_of(uint64_t value) {
    if (value < 2 * kPerDoubling) return value;
    int shift = std::bit_width(value) - 1 - kPrecisionBits;
    return static_cast<size_t>(shift) * kPerDoubling + (value >> shift);
}

uint64_t Histogram::upper_edge(size_t bucket) {
    if (bucket < 2 * kPerDoubling) return bucket;
    size_t shift = bucket / kPerDoubling - 1;
    uint64_t mantissa = bucket - shift * kPerDoubling;
    return ((mantissa + 1) << shift) - 1;
}

void Histogram::add(int64_t value) {
    value = std::max<int64_t>(value, 0);
    size_t bucket = bucket_of(static_cast<uint64_t>(value));
    if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
    ++buckets_[bucket];
    ++count_;
    sum_ += value;
    max_ = std::max(max_, value);
}

void Histogram::merge(const Histogram& other) {
    if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
    for (size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
}

int64_t Histogram::percentile(double share) const {
    if (count_ == 0) return 0;
    auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_)));
    wanted = std::clamp<uint64_t>(wanted, 1, count_);
    uint64_t seen = 0;
    for (size_t i = 0; i < buckets_.size(); ++i) {
        seen += buckets_[i];
        if (seen >= wanted) return std::min(static_cast<int64_t>(upper_edge(i)), max_);
    }
    return max_;
}

double quantile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
    return values[std::min(at, values.size() - 1)];
}

}  // namespace load
