#include "service/cluster/leases.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "runtime/loop/limited_log.h"

namespace service::cluster {

using base::CloseReason;
using base::fail;
using base::Result;

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

bool is_too_long(const base::StreamKey& stream) {
    return stream.vhost.size() + stream.app.size() + stream.name.size() > kMaxName;
}

}  // namespace

void Leases::configure(const std::string& prefix, Record self, int64_t lease_ms) {
    const bool moved = prefix != prefix_;
    prefix_ = prefix;
    self_ = std::move(self);
    lease_ms_ = lease_ms;
    for (auto& [stream, lease] : leases_) {
        if (moved) {
            release(lease);
            lease.key = key_of(prefix_, stream);
            lease.expected.clear();
        } else if (lease.expected.empty()) {
            lease.expected = lease.value;
        }
        describe(lease);
        if (lease.value == lease.expected) lease.expected.clear();
        lease.renewed_ms = lease.asked_ms = 0;
    }
}

void Leases::describe(Lease& lease) {
    const int64_t since_ms = lease.record.since_ms;
    lease.record = self_;
    lease.record.since_ms = since_ms;
    lease.value = to_text(lease.record);
}

Result<void> Leases::admit(const base::StreamKey& stream, Times times) {
    if (is_too_long(stream) || leases_.contains(stream)) return {};
    Lease lease;
    lease.key = key_of(prefix_, stream);
    lease.record.since_ms = times.wall_ms;
    describe(lease);
    auto held = store_.acquire(lease.key, lease.value);
    if (!held) {
        if (held.error().code() == base::Code::kCancelled) return std::unexpected(std::move(held).error());
        ++counters_.unguarded;
        return {};
    }
    if (leases_.contains(stream)) return {};  // another publisher of this server was faster
    if (!held->empty()) {
        lease.expected = *held;
        const auto other = parse_record(*held);
        if (other && !is_of_server(*other, self_)) TRY(take_over(stream, lease, *other, times.now_ms));
    } else {
        lease.renewed_ms = times.now_ms;
        ++counters_.acquired;
    }
    leases_.emplace(stream, std::move(lease));
    return {};
}

// The lease of another server, which may be gone: an encoder whose server was killed does not wait for its end. If it
// is there after all, its publication, which began earlier, gets the name back.
Result<void> Leases::take_over(const base::StreamKey& stream, Lease& lease, const Record& other, int64_t now_ms) {
    const bool is_gone = owner_.is_gone(other);
    if (is_gone) {
        const auto held = store_.claim({{{lease.key, lease.value, lease.expected}}});
        if (held && held->front().empty()) {
            runtime::warn_limited("cluster: {} was published at {}, which is gone: it is taken over",
                                  base::for_log(stream.text()), other.where());
            lease.expected.clear();
            lease.renewed_ms = now_ms;
            ++counters_.inherited;
            return {};
        }
    }
    if (!owner_.is_exclusive(stream)) {
        wait(stream, lease, other, now_ms);
        return {};
    }
    ++counters_.refused;
    return fail(CloseReason::kRefusedBusy,
                fmt::format("{} is published at {} already; if that server is gone, its name is free in {} s",
                            base::for_log(stream.text()), other.where(), (lease_ms_ + 999) / 1'000));
}

void Leases::wait(const base::StreamKey& stream, Lease& lease, const Record& other, int64_t now_ms) {
    if (!lease.waiting)
        base::log::trace("cluster: {} is published at {}, too, which is registered", base::for_log(stream.text()),
                         other.where());
    lease.waiting = true;
    lease.expected.clear();
    lease.renewed_ms = 0;
    lease.asked_ms = now_ms;
}

void Leases::left(const base::StreamKey& stream) {
    const auto found = leases_.find(stream);
    if (found == leases_.end() || found->second.published) return;
    release(found->second);
    leases_.erase(found);
}

void Leases::published(const base::StreamKey& stream, Times times) {
    if (is_too_long(stream)) return;
    auto [found, is_new] = leases_.try_emplace(stream);
    Lease& lease = found->second;
    lease.published = true;
    if (!is_new) return;
    lease.key = key_of(prefix_, stream);
    lease.record.since_ms = times.wall_ms;
    describe(lease);
    // The name stays at this server from one publisher to the next.
    const auto pending = std::ranges::find(releases_, lease.key, &Store::Claim::key);
    if (pending == releases_.end()) return;
    lease.expected = pending->value;
    releases_.erase(pending);
}

void Leases::unpublished(const base::StreamKey& stream) {
    const auto found = leases_.find(stream);
    if (found == leases_.end()) return;
    release(found->second);
    leases_.erase(found);
}

void Leases::release(Lease& lease) {
    if (lease.lost) return;
    releases_.push_back({lease.key, lease.value, {}});
    if (!lease.expected.empty()) releases_.push_back({lease.key, lease.expected, {}});
}

void Leases::renew_all() {
    for (auto& [stream, lease] : leases_) lease.renewed_ms = lease.asked_ms = 0;
}

// One that is not published yet ends by itself.
int64_t Leases::due_ms(const Lease& lease) const {
    if (!lease.published || lease.lost) return kNever;
    const int64_t last_ms = lease.waiting ? lease.asked_ms : lease.renewed_ms;
    return last_ms == 0 ? 0 : last_ms + lease_ms_ / 4;
}

int64_t Leases::next_ms() const {
    if (!releases_.empty()) return 0;
    int64_t next = kNever;
    for (const auto& [stream, lease] : leases_) next = std::min(next, due_ms(lease));
    return next;
}

Result<void> Leases::work(int64_t now_ms) {
    while (!releases_.empty()) TRY(release_some());
    return claim_some(now_ms);
}

// What cannot be released ends by itself.
Result<void> Leases::release_some() {
    const size_t count = std::min(releases_.size(), kBatch);
    const auto end = releases_.begin() + static_cast<ptrdiff_t>(count);
    const std::vector<Store::Claim> some(releases_.begin(), end);
    releases_.erase(releases_.begin(), end);
    auto released = store_.release(some);
    if (!released) {
        releases_.clear();
        return released;
    }
    counters_.released += count;
    return {};
}

Result<void> Leases::claim_some(int64_t now_ms) {
    // The order of names; those that come meanwhile are for the next call.
    std::vector<base::StreamKey> due;
    for (const auto& [stream, lease] : leases_)
        if (due_ms(lease) <= now_ms) due.push_back(stream);
    for (size_t at = 0; at < due.size(); at += kBatch) {
        std::vector<Store::Claim> claims;
        std::vector<base::StreamKey> streams;
        for (size_t i = at; i < std::min(at + kBatch, due.size()); ++i) {
            const auto found = leases_.find(due[i]);
            if (found == leases_.end() || due_ms(found->second) > now_ms) continue;
            streams.push_back(due[i]);
            claims.push_back({found->second.key, found->second.value, found->second.expected});
        }
        if (claims.empty()) continue;
        const auto held = TRY(store_.claim(claims));
        for (size_t i = 0; i < held.size(); ++i) settle(streams[i], claims[i], held[i], now_ms);
    }
    return {};
}

void Leases::settle(const base::StreamKey& stream, const Store::Claim& claim, const std::string& held, int64_t now_ms) {
    const auto found = leases_.find(stream);
    if (found == leases_.end() || found->second.value != claim.value) {
        // It has ended meanwhile, or says something else now.
        if (held.empty() && found == leases_.end()) releases_.push_back({claim.key, claim.value, {}});
        return;
    }
    Lease& lease = found->second;
    if (held.empty()) {
        ++(lease.renewed_ms > 0 ? counters_.renewed : counters_.acquired);
        lease.renewed_ms = now_ms;
        lease.expected.clear();
        lease.waiting = false;
        return;
    }
    const auto other = parse_record(held);
    const bool is_own = other && is_of_server(*other, self_);
    if (other && !is_own && !owner_.is_exclusive(stream)) {
        wait(stream, lease, *other, now_ms);
        return;
    }
    lease.waiting = false;
    if (!other || is_own || is_before(lease.record, *other)) {
        if (!is_own) {
            ++counters_.won;
            runtime::warn_limited("cluster: {} is published at {}, too, where it began later: it is ended there",
                                  base::for_log(stream.text()), other ? other->where() : "another server");
        }
        lease.expected = held;  // replaced by the next claim, unless it has changed
        lease.renewed_ms = 0;
        return;
    }
    lease.lost = true;
    ++counters_.lost;
    owner_.lease_lost(stream, *other);
}

}  // namespace service::cluster
