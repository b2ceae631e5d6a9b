#include "protocol/srt/sender.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace srt {

namespace {
constexpr int64_t kMinTooLateUs = 1'000'000, kTooLateMarginUs = 20'000;
// Peers that are busy acknowledge later than every 10 ms: with less, each of a quiet network sent 0.2 % again.
constexpr int64_t kAckPeriodUs = 10'000, kMinTimeoutUs = 100'000;
}  // namespace

Sender::Sender(const Options& options, int64_t index)
    : sequence_offset_(int64_t{options.initial_sequence} - index),
      start_us_(options.start_us),
      send_delay_us_(options.send_delay_us),
      too_late_us_(std::max(options.latency_us * 5 / 4, kMinTooLateUs) + kTooLateMarginUs),
      peer_id_(options.peer_id),
      window_(std::max(options.window, kMinWindow)),
      peer_free_(window_),
      peer_repeats_naks_(options.peer_repeats_naks),
      next_(index),
      acked_(index),
      floor_(index),
      catch_up_from_(index) {}

// --- what the peer says --------------------------------------------------------------------------------------------

void Sender::on_ack(int64_t now_us, const Ack& ack) {
    int64_t index = unwrap_sequence(ack.last, sequence_of(acked_)) - sequence_offset_;
    if (index > next_) {
        ++counters_.invalid_acks;
        index = next_;
    }
    if (ack.kind != Ack::Kind::kLight) {
        round_trip_.set(ack.rtt_us, ack.rtt_var_us);
        if (index >= acked_) peer_free_ = std::max(ack.buffer_packets, kMinWindow);
    }
    if (index <= acked_) return;
    acked_ = index;
    floor_ = std::max(floor_, acked_);
    progress_us_ = now_us;
    backoff_ = 0;
    repairs_.remove_below(floor_);
}

void Sender::on_nak(int64_t now_us, LossList losses) {
    if (nak_bucket_.ready_us(kNakRanges) > now_us) {
        ++counters_.ignored_naks;
        return;
    }
    while (auto range = losses.next()) {
        nak_bucket_.take(now_us, 1, kNakRanges);
        const int64_t first = unwrap_sequence(range->first, sequence_of(next_)) - sequence_offset_;
        const int64_t last = std::min(first + sequence_difference(range->last, range->first), next_ - 1);
        if (first > last) continue;
        if (first < floor_) request_drop({first, std::min(last, floor_ - 1)});
        if (last < floor_) continue;
        const ExtendedRange wanted{std::max(first, floor_), last};
        counters_.lost += static_cast<uint64_t>(wanted.size());
        request_repair(wanted);
    }
    exclude_recent(now_us);
}

bool Sender::request_repair(ExtendedRange indices) {
    if (repairs_.add(indices)) return true;
    ++counters_.ignored_naks;
    return false;
}

void Sender::request_drop(ExtendedRange indices) {
    if (drop_request_.size() <= 0) {
        drop_request_ = indices;
    } else {
        // What lies between two is below the floor, too.
        drop_request_ = {std::min(drop_request_.first, indices.first), std::max(drop_request_.last, indices.last)};
    }
}

// What was repaired within a round trip: the peer may have asked before that arrived.
void Sender::exclude_recent(int64_t now_us) {
    const int64_t since_us = now_us - round_trip_.us() - round_trip_.variation_us();
    while (!recent_.empty() && recent_.front().sent_us <= since_us) recent_.pop_front();
    if (repairs_.empty()) return;
    for (const Repair& repair : recent_) repairs_.remove(repair.indices);
}

void Sender::record_repair(int64_t index, int64_t now_us) {
    if (!recent_.empty()) {
        Repair& last = recent_.back();
        if (last.indices.last + 1 == index && now_us - last.sent_us < kSameRepairUs) {
            last.indices.last = index;
            return;
        }
    }
    if (recent_.size() == kMaxRecent) recent_.pop_front();
    recent_.push_back({{index, index}, now_us});
}

// --- what is sent --------------------------------------------------------------------------------------------------

int64_t Sender::time_of(int64_t index, const History& history) const {
    const int64_t time_us = std::max(history.entry(index).time_us + send_delay_us_, start_us_);
    return index >= catch_up_end_ ? time_us : std::max(time_us, catch_up_time(index));
}

int64_t Sender::catch_up_time(int64_t index) const {
    return catch_up_us_ + (index - catch_up_from_) * catch_up_interval_us_;
}

// When the next new one may be sent.
int64_t Sender::ready_us(const SendPolicy& policy) const {
    const int64_t at = std::max(data_bucket_.ready_us(policy.data_limit()), next_burst_us_);
    return next_ >= catch_up_end_ ? at : std::max(at, catch_up_time(next_));
}

std::optional<Outgoing> Sender::next(int64_t now_us, const History& history, const SendPolicy& policy) {
    if (catch_up_interval_us_ == 0) begin_catch_up(next_, now_us, history, policy);
    forget(now_us, history, policy);
    check_timeout(now_us);
    if (auto repair = next_repair(now_us, history, policy)) return repair;
    return next_new(now_us, history, policy);
}

Outgoing Sender::build(int64_t index, int64_t now_us, const History& history, bool repair) {
    const auto size = history.entry(index).bytes.size();
    ++counters_.packets;
    counters_.bytes += size;
    if (repair) {
        ++counters_.repairs;
        counters_.repair_bytes += size;
        record_repair(index, now_us);
    }
    return {.index = index,
            .header = {.sequence = wire_sequence(sequence_of(index)),
                       .in_order = true,
                       .retransmitted = repair,
                       .message = message_number(index),
                       .timestamp_us = wire_timestamp(time_of(index, history) - start_us_),
                       .destination = peer_id_}};
}

std::optional<Outgoing> Sender::next_repair(int64_t now_us, const History& history, const SendPolicy& policy) {
    if (repairs_.empty()) return std::nullopt;
    const TokenBucket::Limit limit = policy.repair_limit();
    if (repair_bucket_.ready_us(limit) > now_us) return std::nullopt;
    const int64_t index = repairs_.front();
    repairs_.pop_front();
    const Outgoing packet = build(index, now_us, history, true);
    repair_bucket_.take(now_us, static_cast<int64_t>(history.entry(index).bytes.size()) + kPacketOverhead, limit);
    return packet;
}

std::optional<Outgoing> Sender::next_new(int64_t now_us, const History& history, const SendPolicy& policy) {
    if (next_ >= history.end() || next_ >= send_limit()) return std::nullopt;
    if (ready_us(policy) > now_us) return std::nullopt;
    const History::Entry entry = history.entry(next_);
    if (catch_up_end_ == INT64_MAX && entry.time_us + send_delay_us_ >= catch_up_time(next_)) catch_up_end_ = next_;
    const Outgoing packet = build(next_, now_us, history, false);
    const TokenBucket::Limit limit = policy.data_limit();
    data_bucket_.take(now_us, static_cast<int64_t>(entry.bytes.size()) + kPacketOverhead, limit);
    if (const int64_t at = data_bucket_.ready_us(limit); at > now_us)
        next_burst_us_ = at + std::min(limit.burst * 1'000'000 / limit.rate, kMaxPauseUs);
    if (in_flight() == 0) progress_us_ = now_us;
    sent_us_ = now_us;
    ++next_;
    return packet;
}

int64_t Sender::send_limit() const { return acked_ + int64_t{std::min(window_, peer_free_)}; }

// --- what is too late ----------------------------------------------------------------------------------------------

void Sender::forget(int64_t now_us, const History& history, const SendPolicy& policy) {
    if (next_ < history.first()) leave_out(history.first(), now_us, history, policy);
    floor_ = std::max(floor_, history.first());
    const auto is_late = [&](int64_t index) { return time_of(index, history) + too_late_us_ <= now_us; };
    while (floor_ < next_ && is_late(floor_)) ++floor_;
    if (next_ < history.end() && floor_ == next_ && is_late(next_)) {
        const auto unsent = std::views::iota(next_, history.end());
        leave_out(*std::ranges::partition_point(unsent, is_late), now_us, history, policy);
    }
    repairs_.remove_below(floor_);
}

// Catch-up begins at `to`, so that times do not go back.
void Sender::leave_out(int64_t to, int64_t now_us, const History& history, const SendPolicy& policy) {
    counters_.dropped += static_cast<uint32_t>(to - next_);
    request_drop({next_, to - 1});
    next_ = floor_ = to;
    repairs_.remove_below(floor_);
    begin_catch_up(to, now_us, history, policy);
}

void Sender::begin_catch_up(int64_t index, int64_t now_us, const History& history, const SendPolicy& policy) {
    catch_up_from_ = index;
    catch_up_end_ = INT64_MAX;
    catch_up_us_ = now_us;
    int64_t bytes = 0, count = 0;
    for (int64_t i = std::max(index, history.first()); i < history.end() && count < kCatchUpSample; ++i, ++count)
        bytes += static_cast<int64_t>(history.entry(i).bytes.size());
    const int64_t payload = count > 0 ? bytes / count : int64_t{kLivePayload};
    catch_up_interval_us_ = live_interval_us(payload, policy.data_limit().rate);
}

std::optional<DropRequest> Sender::next_drop_request() {
    if (drop_request_.size() <= 0) return std::nullopt;
    const ExtendedRange range = std::exchange(drop_request_, {});
    return DropRequest{.message = 0, .range = wire_range({sequence_of(range.first), sequence_of(range.last)})};
}

// --- silence of the peer -------------------------------------------------------------------------------------------

int64_t Sender::timeout_us() const {
    if (in_flight() == 0) return kNever;
    // The peer asks again for what it knows to be lost; it knows that only when something comes after it.
    const int64_t since_us = peer_repeats_naks_ ? std::max(progress_us_, sent_us_) : progress_us_;
    return since_us + (std::max(round_trip_.overdue_us() + 2 * kAckPeriodUs, kMinTimeoutUs) << backoff_);
}

void Sender::check_timeout(int64_t now_us) {
    if (now_us < timeout_us()) return;
    progress_us_ = sent_us_ = now_us;
    if (backoff_ < kMaxBackoff) ++backoff_;
    ++counters_.timeouts;
    if (acked_ < floor_) request_drop({acked_, floor_ - 1});
    if (floor_ == next_) return;
    request_repair({peer_repeats_naks_ ? next_ - 1 : floor_, next_ - 1});
    exclude_recent(now_us);
}

int64_t Sender::deadline(const History& history, const SendPolicy& policy) const {
    int64_t at = timeout_us();
    if (!repairs_.empty()) at = std::min(at, repair_bucket_.ready_us(policy.repair_limit()));
    if (next_ < history.first()) return INT64_MIN;
    if (next_ < history.end() && next_ < send_limit()) {
        at = std::min(at, ready_us(policy));
    }
    return at;
}

}  // namespace srt
