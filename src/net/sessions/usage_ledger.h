#pragma once
// UsageLedger: what was used per day, stream and token: traffic, time watched and published, viewers. Bounded by its
// number of rows: what would be a further row is counted in a row of that day whose stream is kOther. A day takes at
// most half of the rows that other days leave, so that one day of many names leaves room for the days after it. Days
// are handed in as numbers: 20261129. Pure.

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/stream_key.h"
#include "net/sessions/unique_counter.h"

namespace net {

struct UsageKey {
    int day = 0;
    base::StreamKey stream{};
    std::string token{};  // SessionObserver::token_of()
    auto operator<=>(const UsageKey&) const = default;
};

struct Usage {
    uint64_t sessions = 0;    // that began that day
    uint64_t received = 0;    // bytes, from publishers
    uint64_t sent = 0;        // bytes, to players
    uint64_t forwarded = 0;   // bytes, to other servers
    uint64_t watched_ms = 0;  // of all players together
    uint64_t published_ms = 0;
    uint32_t peak = 0;  // players of the stream at one time
    UniqueCounter viewers{};

    // Of two different streams the peak is the greater one.
    Usage& operator+=(const Usage& more);
};

class UsageLedger {
  public:
    static constexpr std::string_view kOther = "(other)";
    using Rows = std::map<UsageKey, Usage>;

    explicit UsageLedger(size_t max_rows) : max_rows_(max_rows) {}
    void set_max_rows(size_t max_rows) { max_rows_ = max_rows; }

    // The row to add to; it is written with the next changes.
    Usage& change(const UsageKey& key);
    // The row kOther of that day, likewise: for what is to take no row of its own.
    Usage& change_other(int day);
    // Replaces a row, as a file has it.
    void restore(UsageKey key, Usage usage);
    void forget_before(int day);
    int first_day() const { return first_day_; }  // of the last call

    const Usage* find(const UsageKey& key) const;                   // null: there is no such row
    bool has_stream(int day, const base::StreamKey& stream) const;  // by any token
    size_t size() const { return rows_.size(); }
    uint64_t overflows() const { return overflows_; }  // changes that went to a row kOther for want of room
    // The first row, or the first behind that key; null: there is none. For passes that yield.
    const Rows::value_type* first() const { return rows_.empty() ? nullptr : &*rows_.begin(); }
    const Rows::value_type* after(const UsageKey& key) const;
    // The keys of the rows that have changed since the last call.
    std::set<UsageKey> take_changes();

  private:
    bool has_room(int day) const;
    Rows::iterator insert(UsageKey key);

    size_t max_rows_;
    Rows rows_;
    std::map<int, size_t> rows_of_day_;
    std::set<UsageKey> changed_;
    uint64_t overflows_ = 0;
    int first_day_ = 0;
};

// The line of a row, and the reverse; false: it is no such line.
std::string usage_line(const UsageKey& key, const Usage& usage);
bool read_usage_line(std::string_view line, UsageKey& key, Usage& usage);
// Of a text of such lines the last one of each row, without days before that one and without other lines.
std::string newest_usage_lines(std::string_view text, int first_day);

}  // namespace net
