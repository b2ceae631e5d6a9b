#include "protocol/srt/receiver.h"

#include <algorithm>
#include <utility>

namespace srt {

Receiver::Receiver(const Options& options)
    : options_(options),
      next_(options.initial_sequence),
      unreported_(next_),
      acked_(next_),
      light_acked_(next_),
      first_time_base_us_(options.conclusion_us - options.conclusion_timestamp_us),
      time_base_us_(first_time_base_us_) {
    options_.window = std::max(options_.window, 1u);
}

bool Receiver::is_wanted(uint32_t sequence) const {
    const int64_t at = unwrap_sequence(sequence, end());
    if (at < next_) return false;
    return at >= end() || slots_[static_cast<size_t>(at - next_)].state == State::kMissing;
}

void Receiver::on_data(int64_t now_us, const Arrival& arrival, DataSink& sink) {
    ++counters_.packets;
    counters_.bytes += arrival.payload.size();
    counters_.retransmitted += arrival.retransmitted ? 1 : 0;
    rate_.add(now_us, arrival.payload.size());
    ++since_ack_;
    const int64_t sequence = unwrap_sequence(arrival.sequence, end());
    if (sequence < next_) return count_old(sequence);
    if (sequence < end() && slot(sequence).state != State::kMissing) {
        ++counters_.duplicates;
        return;
    }
    if (!make_room(now_us, sequence, sink) || !may_append(now_us, sequence)) return;
    const int64_t timestamp_us = unwrap_timestamp(arrival.timestamp_us, now_us - time_base_us_);
    if (sequence != next_ || !slots_.empty()) {
        keep(now_us, sequence, timestamp_us, arrival);
        deliver(now_us, sink);
    } else {
        deliver_one(arrival.readable ? State::kReadable : State::kUnreadable, arrival.payload, timestamp_us, sink);
        ++next_;
    }
    report_gaps(now_us);
    schedule_ack(now_us);
}

// Numbers beyond the window. A single one may be damage or a lie, and is dropped. When a second one follows, the peer
// has gone on without us: what is missing before the first one is given up.
bool Receiver::make_room(int64_t now_us, int64_t sequence, DataSink& sink) {
    const int64_t window = options_.window;
    if (sequence < next_ + window) return true;
    const int64_t before = std::exchange(far_, sequence);
    const bool follows = before != kNever && sequence > before && sequence <= before + kMaxFarStep;
    if (follows && !options_.drop_too_late) failure_ = Failure::kBufferFull;
    if (!follows || !options_.drop_too_late) {
        ++counters_.out_of_window;
        return false;
    }
    skip_to(now_us, before, sink);
    return true;
}

// A gap costs memory and time for each number in it, which a peer must not have for nothing.
bool Receiver::may_append(int64_t now_us, int64_t to) {
    const int64_t count = to - end();
    if (count <= 0) return true;
    const bool ready = gap_bucket_.ready_us(kGapLimit) <= now_us;
    if (ready) gap_bucket_.take(now_us, count, kGapLimit);
    counters_.out_of_window += ready ? 0 : 1;
    return ready;
}

// Extends the slots to before `to`.
void Receiver::append_missing(int64_t now_us, int64_t to) {
    const auto count = static_cast<size_t>(std::max<int64_t>(to - end(), 0));
    counters_.lost += count;
    missing_ += count;
    for (size_t i = 0; i < count; ++i) slots_.push_back({.payload = {}, .time_us = now_us});
}

void Receiver::keep(int64_t now_us, int64_t sequence, int64_t timestamp_us, const Arrival& arrival) {
    if (slots_.empty()) {
        hole_end_ = sequence;
        hole_since_us_ = now_us;
    }
    if (sequence >= end()) {
        append_missing(now_us, sequence);
        slots_.push_back({});
    } else {
        --missing_;
        ++counters_.recovered;
        hole_end_ = std::min(hole_end_, sequence);
    }
    slot(sequence) = {.payload = arrival.readable ? base::Slice::copy(arrival.payload) : base::Slice(),
                      .timestamp_us = timestamp_us,
                      .time_us = now_us,
                      .state = arrival.readable ? State::kReadable : State::kUnreadable};
    buffered_bytes_ += slot(sequence).payload.size();
}

void Receiver::deliver_one(State state, std::span<const uint8_t> payload, int64_t timestamp_us, DataSink& sink) {
    if (state != State::kReadable) {
        counters_.unreadable += state == State::kUnreadable ? 1 : 0;
        ++counters_.skipped;
        ++skipped_before_;
        return;
    }
    ++counters_.delivered;
    sink.on_message({payload, timestamp_us, std::exchange(skipped_before_, 0)});
}

void Receiver::deliver(int64_t now_us, DataSink& sink) {
    if (slots_.empty() || slots_.front().state == State::kMissing) return;
    while (!slots_.empty() && slots_.front().state != State::kMissing) {
        const Slot front = std::move(slots_.front());
        slots_.pop_front();
        ++next_;
        buffered_bytes_ -= front.payload.size();
        deliver_one(front.state, front.payload, front.timestamp_us, sink);
    }
    if (slots_.empty()) return;
    hole_since_us_ = now_us;
    hole_end_ = next_;
    while (slot(hole_end_).state == State::kMissing) ++hole_end_;  // the last slot is not missing
}

// Gives up the missing ones from next_ to before `to`, which is not beyond the end of the hole. Without slots `to` is
// any number.
void Receiver::skip_hole(int64_t now_us, int64_t to, DataSink& sink) {
    const auto count = static_cast<uint64_t>(to - next_);
    counters_.skipped += count;
    skipped_before_ += count;
    recently_skipped_[skips_++ % recently_skipped_.size()] = {next_, to - 1};
    if (slots_.empty()) {
        counters_.lost += count;
        next_ = to;
        return;
    }
    missing_ -= count;
    for (; next_ < to; ++next_) slots_.pop_front();
    deliver(now_us, sink);
}

// Delivers what has come before `to`, and gives up the rest.
void Receiver::skip_to(int64_t now_us, int64_t to, DataSink& sink) {
    while (next_ < to) skip_hole(now_us, slots_.empty() ? to : std::min(hole_end_, to), sink);
}

void Receiver::count_old(int64_t sequence) {
    const bool skipped =
        std::ranges::any_of(recently_skipped_, [&](const ExtendedRange& range) { return range.contains(sequence); });
    ++(skipped ? counters_.belated : counters_.duplicates);
}

void Receiver::on_drop_request(int64_t now_us, SequenceRange range, DataSink& sink) {
    const int64_t first = unwrap_sequence(range.first, next_);
    const int64_t last = first + sequence_difference(range.last, range.first);
    if (last < first || last < next_) return;
    if (first <= next_) {
        skip_to(now_us, last + 1, sink);
    } else if (last < next_ + int64_t{options_.window} && may_append(now_us, last + 1)) {
        if (slots_.empty()) {
            hole_end_ = first;
            hole_since_us_ = now_us;
        }
        append_missing(now_us, last + 1);
        for (int64_t i = first; i <= last; ++i) {
            if (slot(i).state != State::kMissing) continue;
            slot(i) = {.payload = {}, .time_us = now_us, .state = State::kDropped};
            --missing_;
        }
        hole_end_ = std::min(hole_end_, first);
    }
    report_gaps(now_us);
    schedule_ack(now_us);
}

int64_t Receiver::hole_due_us() const {
    if (slots_.empty()) return kNever;
    if (!options_.drop_too_late) {
        return hole_since_us_ + (slots_.size() < options_.window ? kMaxHoleUs : options_.latency_us);
    }
    const Slot& after = slots_[static_cast<size_t>(hole_end_ - next_)];
    if (after.state == State::kDropped) return after.time_us + options_.latency_us;
    return std::min(time_base_us_ + after.timestamp_us, after.time_us) + options_.latency_us;
}

void Receiver::on_time(int64_t now_us, DataSink& sink) {
    while (failure_ == Failure::kNone && hole_due_us() <= now_us) {
        if (options_.drop_too_late) {
            skip_hole(now_us, hole_end_, sink);
        } else {
            failure_ = Failure::kBufferFull;
        }
    }
    schedule_ack(now_us);
}

void Receiver::flush(int64_t now_us, DataSink& sink) { skip_to(now_us, end(), sink); }

// --- acknowledgement -----------------------------------------------------------------------------------------------

void Receiver::schedule_ack(int64_t now_us) {
    if (next_ != acked_) ack_due_us_ = std::min(ack_due_us_, now_us + kAckPeriodUs);
}

// Full ACKs come 10 ms after the first new packet, so that a frame's packets have one together.
std::optional<Ack> Receiver::next_ack(int64_t now_us) {
    if (now_us < ack_due_us_) {
        if (since_ack_ < kLightAckPackets || next_ == light_acked_) return std::nullopt;
        since_ack_ = 0;
        light_acked_ = next_;
        return Ack{.kind = Ack::Kind::kLight, .last = wire_sequence(next_)};
    }
    since_ack_ = 0;
    acked_ = light_acked_ = next_;
    ack_due_us_ = now_us + round_trip_.overdue_us();  // again, unless it is answered
    if (sent_acks_.size() == kMaxSentAcks) {
        sent_acks_.pop_front();
        ++first_sent_ack_;
    }
    sent_acks_.push_back({now_us, next_});
    return Ack{.kind = Ack::Kind::kFull,
               .number = first_sent_ack_ + static_cast<uint32_t>(sent_acks_.size()) - 1,
               .last = wire_sequence(next_),
               .rtt_us = static_cast<uint32_t>(round_trip_.us()),
               .rtt_var_us = static_cast<uint32_t>(round_trip_.variation_us()),
               .buffer_packets = options_.window,  // counted from `last`, before which nothing is kept
               .rate_packets = rate_.packets_per_second(),
               .capacity_packets = rate_.packets_per_second(),
               .rate_bytes = rate_.bytes_per_second()};
}

void Receiver::on_ack_ack(int64_t now_us, uint32_t number, uint32_t timestamp_us) {
    const uint32_t at = number - first_sent_ack_;
    if (at >= sent_acks_.size()) return;
    const SentAck sent = sent_acks_[at];
    for (uint32_t i = 0; i <= at; ++i) sent_acks_.pop_front();
    first_sent_ack_ = number + 1;
    if (sent.next == next_) ack_due_us_ = kNever;
    const bool first = !round_trip_.is_measured();
    round_trip_.add_sample(now_us - sent.sent_us);
    if (first) first_rtt_us_ = round_trip_.us();
    add_drift_sample(now_us, timestamp_us);
}

// The mean over 10 s moves the base, so that jitter does not. What the way back takes longer than at first is not
// drift.
void Receiver::add_drift_sample(int64_t now_us, uint32_t timestamp_us) {
    const int64_t expected_us = now_us - time_base_us_;
    const int64_t late_us =
        expected_us - unwrap_timestamp(timestamp_us, expected_us) - (round_trip_.us() - first_rtt_us_) / 2;
    if (drift_samples_ == 0) drift_since_us_ = now_us;
    drift_sum_us_ += std::clamp(late_us, -kMaxDriftUs, kMaxDriftUs);
    ++drift_samples_;
    if (now_us - drift_since_us_ < kDriftPeriodUs || drift_samples_ < kMinDriftSamples) return;
    time_base_us_ += drift_sum_us_ / drift_samples_;
    drift_sum_us_ = drift_samples_ = 0;
}

// --- requests ------------------------------------------------------------------------------------------------------

int64_t Receiver::nak_period_us() const { return std::max(round_trip_.overdue_us() / 2, kMinNakPeriodUs); }

// Looks at the gaps that are new, but for packets that may only have been overtaken: these are requested after the
// period if nothing follows.
void Receiver::report_gaps(int64_t now_us) {
    const int64_t to = end() - int64_t{options_.reorder};
    for (unreported_ = std::max(unreported_, next_); unreported_ < to; ++unreported_) {
        Slot& s = slot(unreported_);
        if (s.state != State::kMissing) continue;
        s.time_us = kRequestNow;
        urgent_from_ = std::min(urgent_from_, unreported_);
    }
    if (missing_ == 0) {
        nak_due_us_ = urgent_from_ = kNever;
    } else if (nak_due_us_ == kNever) {
        nak_due_us_ = now_us + nak_period_us();
    }
}

void Receiver::write_nak(int64_t now_us, NakWriter& nak) {
    const bool periodic = now_us >= nak_due_us_;
    if (!periodic && urgent_from_ == kNever) return;
    const int64_t period_us = nak_period_us();
    const int64_t before_us = now_us - period_us + kNakSpacingUs / 2;  // what is nearly due goes along
    int64_t oldest_us = now_us;
    bool full = false;
    for (int64_t i = periodic ? next_ : std::max(urgent_from_, next_); i < end(); ++i) {
        if (slot(i).state != State::kMissing) continue;
        if (slot(i).time_us > before_us) {
            oldest_us = std::min(oldest_us, slot(i).time_us);
            continue;
        }
        ExtendedRange range{i, i};
        while (slot(range.last + 1).state == State::kMissing && slot(range.last + 1).time_us <= before_us) ++range.last;
        full = !nak.add(wire_range(range));
        if (full) break;
        counters_.requested += static_cast<uint64_t>(range.size());
        for (; i <= range.last; ++i) slot(i).time_us = now_us;
        --i;
    }
    urgent_from_ = kNever;
    if (periodic) nak_due_us_ = std::max(oldest_us + period_us, now_us + kNakSpacingUs);
    if (full) nak_due_us_ = std::min(nak_due_us_, now_us + kNakSpacingUs);
    if (missing_ == 0) nak_due_us_ = kNever;
}

int64_t Receiver::deadline() const {
    if (urgent_from_ != kNever) return kRequestNow;
    return std::min({hole_due_us(), nak_due_us_, ack_due_us_});
}

}  // namespace srt
