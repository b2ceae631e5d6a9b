#include "service/bandwidth/check_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace service::bandwidth {

using base::Code;
using base::fail;

namespace {
// Passes at once, of the ceiling: what a sleep of the loop may be late.
constexpr int64_t kBurstMs = 20;
constexpr int64_t kLeastBurst = 32 * 1024;

base::IpAddress address_of(std::string_view ip) { return base::IpAddress::parse(ip).value_or(base::IpAddress()); }
}  // namespace

void CheckBook::set_options(Options options) {
    addresses_.set_options({options.of_address, options.per_second, options.burst, options.exempt});
    options_ = std::move(options);
}

srt::TokenBucket::Limit CheckBook::limit() const {
    const int64_t rate = std::max<int64_t>(options_.bytes_per_second, 1);
    return {rate, std::max(rate * kBurstMs / 1000, kLeastBurst)};
}

base::Result<CheckPtr> CheckBook::begin(std::string id, std::string_view ip, int64_t now_us) {
    drop_ended(now_us);
    if (checks_.size() >= options_.in_all) {
        ++counters_.refused_all;
        return fail(Code::kLimit, fmt::format("{} checks are under way, the limit (in_all)", checks_.size()));
    }
    if (auto admitted = addresses_.admit(ip, now_us / 1000); !admitted) {
        ++counters_.refused_address;
        return fail(Code::kRefused, "your address has too many checks (of_address, per_minute)");
    }
    addresses_.opened(address_of(ip));
    ++counters_.begun;
    return checks_.emplace_back(std::make_shared<Check>(Check{.id = std::move(id),
                                                              .ip = std::string(ip),
                                                              .ends_us = now_us + options_.duration_us,
                                                              .bytes_left = {options_.bytes, options_.bytes}}));
}

CheckPtr CheckBook::find(std::string_view id, int64_t now_us) {
    drop_ended(now_us);
    const auto found = std::ranges::find(checks_, id, [](const CheckPtr& one) { return std::string_view(one->id); });
    return found == checks_.end() ? nullptr : *found;
}

void CheckBook::end(const CheckPtr& check, int64_t now_us) {
    check->is_ended = true;
    drop_ended(now_us);
}

void CheckBook::count(Check& check, Direction direction, uint64_t bytes, int64_t now_us) {
    const auto side = static_cast<size_t>(direction);
    buckets_[side].take(now_us, static_cast<int64_t>(bytes), limit());
    check.bytes_left[side] -= std::min(check.bytes_left[side], bytes);
    check.bytes_done[side] += bytes;
    counters_.bytes[side] += bytes;
}

base::Result<int64_t> CheckBook::receive(std::string_view id, uint64_t bytes, int64_t now_us) {
    const CheckPtr check = find(id, now_us);
    if (!check) return base::fail(base::Code::kNotFound, kNoCheck);
    if (!check->may_transfer(Direction::kUp, now_us))
        return base::fail(base::Code::kRefused, "the check has had its bytes");
    const int64_t debt_us = ready_us(Direction::kUp) - now_us;
    if (debt_us > 0 && debt_us * limit().rate / 1'000'000 > kMaxDebtBytes)
        return base::fail(base::Code::kRefused, "more than the limit of all checks");
    count(*check, Direction::kUp, bytes, now_us);
    return std::clamp<int64_t>(ready_us(Direction::kUp) - now_us, 0, check->ends_us - now_us);
}

size_t CheckBook::size(int64_t now_us) {
    drop_ended(now_us);
    return checks_.size();
}

void CheckBook::drop_ended(int64_t now_us) {
    std::erase_if(checks_, [&](const CheckPtr& check) {
        if (!check->is_ended && now_us < check->ends_us) return false;
        check->is_ended = true;
        addresses_.closed(address_of(check->ip), now_us / 1000);
        return true;
    });
}

}  // namespace service::bandwidth
