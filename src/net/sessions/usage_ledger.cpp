#include "net/sessions/usage_ledger.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/record_lines.h"

namespace net {

namespace {

constexpr std::string_view kVersion = "1";
constexpr size_t kFields = 14;

template <class T>
bool read(std::string_view text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

UsageKey other_key(int day) { return {day, {"", "", std::string(UsageLedger::kOther)}, ""}; }

}  // namespace

Usage& Usage::operator+=(const Usage& more) {
    sessions += more.sessions;
    received += more.received;
    sent += more.sent;
    forwarded += more.forwarded;
    watched_ms += more.watched_ms;
    published_ms += more.published_ms;
    peak = std::max(peak, more.peak);
    viewers.join(more.viewers);
    return *this;
}

Usage& UsageLedger::change(const UsageKey& key) {
    auto found = rows_.find(key);
    if (found == rows_.end() && !has_room(key.day)) {
        ++overflows_;
        return change_other(key.day);
    }
    if (found == rows_.end()) found = insert(key);
    changed_.insert(found->first);
    return found->second;
}

Usage& UsageLedger::change_other(int day) {
    const auto row = insert(other_key(day));
    changed_.insert(row->first);
    return row->second;
}

bool UsageLedger::has_room(int day) const {
    const auto found = rows_of_day_.find(day);
    const size_t own = found == rows_of_day_.end() ? 0 : found->second;
    const size_t of_others = rows_.size() - own;
    const size_t left = max_rows_ - std::min(max_rows_, of_others);
    return own < (left + 1) / 2;
}

UsageLedger::Rows::iterator UsageLedger::insert(UsageKey key) {
    const int day = key.day;
    const auto [row, is_new] = rows_.try_emplace(std::move(key));
    if (is_new) ++rows_of_day_[day];
    return row;
}

void UsageLedger::restore(UsageKey key, Usage usage) {
    const auto found = rows_.find(key);
    if (found != rows_.end()) {
        found->second = std::move(usage);
    } else if (rows_.size() < max_rows_) {
        insert(std::move(key))->second = std::move(usage);
    } else {
        ++overflows_;
        insert(other_key(key.day))->second += usage;
    }
}

void UsageLedger::forget_before(int day) {
    first_day_ = day;
    rows_.erase(rows_.begin(), rows_.lower_bound(UsageKey{.day = day}));
    rows_of_day_.erase(rows_of_day_.begin(), rows_of_day_.lower_bound(day));
    changed_.erase(changed_.begin(), changed_.lower_bound(UsageKey{.day = day}));
}

const UsageLedger::Rows::value_type* UsageLedger::after(const UsageKey& key) const {
    const auto found = rows_.upper_bound(key);
    return found == rows_.end() ? nullptr : &*found;
}

bool UsageLedger::has_stream(int day, const base::StreamKey& stream) const {
    const auto found = rows_.lower_bound({day, stream, ""});
    return found != rows_.end() && found->first.day == day && found->first.stream == stream;
}

const Usage* UsageLedger::find(const UsageKey& key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? nullptr : &found->second;
}

std::set<UsageKey> UsageLedger::take_changes() { return std::exchange(changed_, {}); }

std::string usage_line(const UsageKey& key, const Usage& usage) {
    const auto text = [](auto number) { return std::to_string(number); };
    return base::record_line({kVersion, text(key.day), key.stream.vhost, key.stream.app, key.stream.name, key.token,
                              text(usage.sessions), text(usage.received), text(usage.sent), text(usage.forwarded),
                              text(usage.watched_ms), text(usage.published_ms), text(usage.peak),
                              usage.viewers.text()});
}

bool read_usage_line(std::string_view line, UsageKey& key, Usage& usage) {
    const std::vector<std::string> fields = base::record_fields(line);
    if (fields.size() != kFields || fields[0] != kVersion) return false;
    auto viewers = UniqueCounter::parse(fields[13]);
    const bool is_good = read(fields[1], key.day) && read(fields[6], usage.sessions) &&
                         read(fields[7], usage.received) && read(fields[8], usage.sent) &&
                         read(fields[9], usage.forwarded) && read(fields[10], usage.watched_ms) &&
                         read(fields[11], usage.published_ms) && read(fields[12], usage.peak);
    if (!is_good || !viewers) return false;
    key.stream = {fields[2], fields[3], fields[4]};
    key.token = fields[5];
    usage.viewers = *std::move(viewers);
    return true;
}

std::string newest_usage_lines(std::string_view text, int first_day) {
    std::map<UsageKey, std::string_view> newest;
    std::string_view line;
    while (base::take_line(text, line)) {
        UsageKey key;
        Usage usage;
        if (read_usage_line(line, key, usage) && key.day >= first_day) newest[std::move(key)] = line;
    }
    std::string out;
    for (const auto& [key, kept] : newest) out.append(kept).push_back('\n');
    return out;
}

}  // namespace net
