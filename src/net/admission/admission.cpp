#include "net/admission/admission.h"

#include <fmt/core.h>

#include "base/clock.h"
#include "net/sessions/unserved.h"
#include "runtime/threads/descriptors.h"

namespace net {

void Admission::set_options(Options options) {
    options_ = std::move(options);
    limiter_.set_options(options_.addresses);
}

void Admission::saw_descriptor(int number) {
    is_short_of_descriptors_ = number >= runtime::descriptor_budget().connections;
}

base::Result<void> Admission::full() {
    ++refused_total_;
    if (!has_max_connections()) {
        ++refused_for_descriptors_;
        return base::fail(base::Code::kLimit,
                          fmt::format("{} connections, and the limit of open files (ulimit -n)", connections_));
    }
    return base::fail(base::Code::kLimit,
                      fmt::format("{} connections, the limit of max_connections", connections_ + elsewhere_));
}

base::Result<void> Admission::admit_address(std::string_view ip, Rate rate, int64_t now_ms) {
    auto admitted = limiter_.admit(ip, now_ms, rate == Rate::kCounts);
    if (!admitted) ++refused_total_;
    return admitted;
}

bool Admission::evict_one(int64_t now_ms) {
    return embryonic_.evict_one(now_ms, kEvictableMs) || idle_.evict_one(now_ms, kEvictableMs) ||
           (unserved_ && unserved_->evict_one(now_ms, kEvictableMs));
}

bool Admission::can_evict(int64_t now_ms) const {
    return embryonic_.has(now_ms, kEvictableMs) || idle_.has(now_ms, kEvictableMs) ||
           (unserved_ && unserved_->has(now_ms, kEvictableMs));
}

// Checks the address first: a client with too many connections must not displace others.
base::Result<void> Admission::admit(std::string_view ip, Rate rate, bool is_full_now) {
    const int64_t now_ms = base::monotonic_ms();
    TRY(admit_address(ip, rate, now_ms));
    if (!is_full_now || evict_one(now_ms)) return {};
    return full();
}

base::Result<void> Admission::admit(std::string_view ip) { return admit(ip, Rate::kCounts, is_full()); }

base::Result<void> Admission::admit_without_descriptor(std::string_view ip) {
    return admit(ip, Rate::kCounts, has_max_connections());
}

base::Result<void> Admission::admit_expected(std::string_view ip) {
    return admit(ip, Rate::kPaid, has_max_connections());
}

base::Result<void> Admission::expect(std::string_view ip) {
    const int64_t now_ms = base::monotonic_ms();
    TRY(admit_address(ip, Rate::kCounts, now_ms));
    if (!has_max_connections() || can_evict(now_ms)) return {};
    return full();
}

void Admission::opened(const base::IpAddress& ip) {
    ++connections_;
    limiter_.opened(ip);
}

void Admission::closed(const base::IpAddress& ip) {
    CHECK(connections_ > 0);
    --connections_;
    limiter_.closed(ip, base::monotonic_ms());
}

}  // namespace net
