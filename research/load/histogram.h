#pragma once
// Histogram: how long things took, in microseconds, in buckets whose width is at most 1/64 of their value, so that any
// number of samples takes the same memory and a percentile is off by at most 1.6 %.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace load {

class Histogram {
  public:
    void add(int64_t value);  // below 0 counts as 0
    void merge(const Histogram& other);

    uint64_t count() const { return count_; }
    int64_t max() const { return max_; }  // exact; 0 when empty
    double mean() const { return count_ ? static_cast<double>(sum_) / static_cast<double>(count_) : 0; }
    // The value that at least this share (0 to 1) of the samples do not exceed: the upper edge of its bucket, but never
    // more than max(). 0 when empty.
    int64_t percentile(double share) const;

  private:
    static size_t bucket_of(uint64_t value);
    static uint64_t upper_edge(size_t bucket);

    std::vector<uint64_t> buckets_;
    uint64_t count_ = 0;
    int64_t max_ = 0;
    int64_t sum_ = 0;
};

// Of values that are all kept: sorts them. share: 0 is the least, 0.5 the median, 1 the largest. 0 when empty.
double quantile(std::vector<double> values, double share);

}  // namespace load
