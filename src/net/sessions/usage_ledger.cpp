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
    if (found == rows_.end() && rows_.size() >= max_rows_) {
        ++overflows_;
        found = rows_.try_emplace({key.day, {"", "", std::string(kOther)}, ""}).first;
    } else if (found == rows_.end()) {
        found = rows_.try_emplace(key).first;
    }
    changed_.insert(found->first);
    return found->second;
}

void UsageLedger::restore(UsageKey key, Usage usage) {
    const auto found = rows_.find(key);
    if (found != rows_.end()) {
        found->second = std::move(usage);
    } else if (rows_.size() < max_rows_) {
        rows_.emplace(std::move(key), std::move(usage));
    } else {
        ++overflows_;
        rows_[{key.day, {"", "", std::string(kOther)}, ""}] += usage;
    }
}

void UsageLedger::forget_before(int day) {
    first_day_ = day;
    rows_.erase(rows_.begin(), rows_.lower_bound(UsageKey{.day = day}));
    changed_.erase(changed_.begin(), changed_.lower_bound(UsageKey{.day = day}));
}

const UsageLedger::Rows::value_type* UsageLedger::after(const UsageKey& key) const {
    const auto found = rows_.upper_bound(key);
    return found == rows_.end() ? nullptr : &*found;
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
