#pragma once
// AlertBook: the alerts that last, and the last ones that did, from what is found wrong in each look. What is found for
// as long as its kind has to be is raised; what is not found any more is cleared. Bounded: of findings about streams,
// which clients cause, kMaxLasting; those of the server are few. Pure: the times are handed in.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "service/alert.h"

namespace service::alerts {

struct Finding {
    AlertKind kind = AlertKind::kDisk;
    live::StreamKey stream{};
    std::string about{};
    std::string text{};
    double figure = 0;
};

class AlertBook {
  public:
    static constexpr size_t kMaxLasting = 1'000, kMaxEnded = 500;
    // A keyframe interval must be found for this long; the other kinds have their time in their condition.
    static constexpr int64_t kHoldMs = 60'000;

    using Change = std::function<void(const Alert&)>;  // cleared_ms is 0: it was raised

    // One look: all that is wrong at this time. now_ms: monotonic. The change is called for each alert that is raised
    // or cleared.
    void look(const std::vector<Finding>& findings, int64_t now_ms, int64_t wall_ms, const Change& change);

    // The newest first.
    std::vector<const Alert*> lasting() const;
    const std::deque<Alert>& ended() const { return ended_; }  // the newest first
    uint64_t left_out() const { return left_out_; }            // findings beyond kMaxLasting, in all looks

  private:
    using Key = std::tuple<AlertKind, live::StreamKey, std::string>;
    struct Entry {
        Alert alert{};
        int64_t found_ms = 0;  // at first
        uint64_t look = 0;     // the last one that found it
        bool is_raised = false;
    };
    std::map<Key, Entry> entries_;
    std::deque<Alert> ended_;
    size_t of_streams_ = 0;  // of the entries
    uint64_t looks_ = 0;
    uint64_t left_out_ = 0;
};

// How much a counter has grown in the last five minutes, by a sample for each look. The first one is the beginning.
class Growth {
  public:
    static constexpr int64_t kWindowMs = 300'000;
    uint64_t add(uint64_t value, int64_t now_ms);

  private:
    struct Sample {
        int64_t at_ms;
        uint64_t value;
    };
    std::deque<Sample> samples_;
};

}  // namespace service::alerts
