#pragma once
// The sending side of a connection: a cursor into a history that all players of a stream share (history.h). What
// differs between players is computed when a packet is sent: sequence number = index + an offset, timestamp = time -
// the player's start. Repairs come from the history, too; nothing is kept per player but what the peer asks for.
//
// A player that starts in the past, or that fell back, is sent its data faster than the stream, with the times of
// sending (catch-up); later packets have the history's times. Times of one index are always the same, and never go
// back.
//
// Bounds against the peer: its NAKs cost a token for each range, the list of repairs is bounded, no packet is repaired
// twice within a round trip, repairs have a rate of their own, an ACK of what was not sent is clamped.
//
// Times are us of any steady clock. No function yields.

#include <cstdint>
#include <optional>

#include "base/flat_queue.h"
#include "protocol/srt/history.h"
#include "protocol/srt/pacing.h"
#include "protocol/srt/packet.h"
#include "protocol/srt/repair_list.h"
#include "protocol/srt/round_trip.h"
#include "protocol/srt/sequence.h"

namespace srt {

// A data packet to be sent: the header without the key's parity, and whose payload of the history it has.
struct Outgoing {
    int64_t index = 0;
    DataHeader header;
};

class Sender {
  public:
    struct Options {
        uint32_t initial_sequence = 0;
        uint32_t peer_id = 0;
        int64_t start_us = 0;          // when our timestamp is 0
        int64_t latency_us = 120'000;  // the peer's
        // How long messages wait for others to be sent with. It is added to their times: to the peer they are not late.
        int64_t send_delay_us = 0;
        uint32_t window = 8192;         // the peer's, in packets
        bool peer_repeats_naks = true;  // PERIODICNAK
    };
    struct Counters {
        uint64_t packets = 0, bytes = 0;  // with repairs
        uint64_t repairs = 0, repair_bytes = 0;
        uint64_t lost = 0;          // requested, each time counted
        uint32_t dropped = 0;       // not sent: too late, or no longer in the history
        uint32_t ignored_naks = 0;  // ranges: too many, no room
        uint32_t invalid_acks = 0;
        uint32_t timeouts = 0;
    };

    // The first packet to be sent is `index`; it has the initial sequence number.
    Sender(const Options& options, int64_t index);

    void on_ack(int64_t now_us, const Ack& ack);
    void on_nak(int64_t now_us, LossList losses);

    // The packet to be sent now, if any: repairs first. It counts as sent.
    std::optional<Outgoing> next(int64_t now_us, const History& history, const SendPolicy& policy);
    // What the peer is not to wait for any more. It counts as sent.
    std::optional<DropRequest> next_drop_request();
    // When next() would have something, if neither the history nor the peer changes that.
    int64_t deadline(const History& history, const SendPolicy& policy) const;

    int64_t cursor() const { return next_; }
    int64_t in_flight() const { return next_ - acked_; }
    const RoundTrip& round_trip() const { return round_trip_; }
    const Counters& counters() const { return counters_; }
    int64_t sequence_of(int64_t index) const { return index + sequence_offset_; }

  private:
    struct Repair {
        ExtendedRange indices;
        int64_t sent_us;
    };

    int64_t time_of(int64_t index, const History& history) const;
    int64_t catch_up_time(int64_t index) const;
    int64_t ready_us(const SendPolicy& policy) const;
    Outgoing build(int64_t index, int64_t now_us, const History& history, bool repair);
    std::optional<Outgoing> next_repair(int64_t now_us, const History& history, const SendPolicy& policy);
    std::optional<Outgoing> next_new(int64_t now_us, const History& history, const SendPolicy& policy);
    void forget(int64_t now_us, const History& history, const SendPolicy& policy);
    void leave_out(int64_t to, int64_t now_us, const History& history, const SendPolicy& policy);
    void begin_catch_up(int64_t index, int64_t now_us, const History& history, const SendPolicy& policy);
    bool request_repair(ExtendedRange indices);
    void exclude_recent(int64_t now_us);
    void record_repair(int64_t index, int64_t now_us);
    void check_timeout(int64_t now_us);
    int64_t timeout_us() const;
    void request_drop(ExtendedRange indices);
    int64_t send_limit() const;

    static constexpr size_t kMaxRecent = 256;
    static constexpr int64_t kSameRepairUs = 1000;
    static constexpr int64_t kCatchUpSample = 64;  // messages whose average size gives the interval
    static constexpr TokenBucket::Limit kNakRanges{.rate = 10'000, .burst = 4'000};
    static constexpr int64_t kMaxPauseUs = 40'000;  // between bursts, however low the rate is
    static constexpr unsigned kMaxBackoff = 5;
    static constexpr uint32_t kMinWindow = 2;  // a peer that reports none would never report again

    int64_t sequence_offset_;
    int64_t start_us_, send_delay_us_, too_late_us_;
    uint32_t peer_id_, window_, peer_free_;
    bool peer_repeats_naks_;
    uint8_t backoff_ = 0;

    int64_t next_;                // the first index that was not sent
    int64_t acked_;               // the first one that the peer does not acknowledge
    int64_t floor_;               // the first one that can be repaired; at most next_
    ExtendedRange drop_request_;  // to be sent, if it is not empty

    // Catch-up: index i has the time catch_up_us_ + (i - catch_up_from_) * interval, if that is after the history's.
    int64_t catch_up_from_, catch_up_end_ = INT64_MAX;
    int64_t catch_up_us_ = 0;
    int64_t catch_up_interval_us_ = 0;  // 0: to be set when the first packet is sent

    RepairList repairs_;
    base::FlatQueue<Repair> recent_;  // in the order of sending
    TokenBucket data_bucket_, repair_bucket_, nak_bucket_;
    // After a burst nothing is sent until the rate allows another one: single packets cost a call to the kernel each.
    int64_t next_burst_us_ = INT64_MIN;
    int64_t progress_us_ = 0;  // when something new was acknowledged or sent while nothing was in flight
    int64_t sent_us_ = 0;      // new data
    RoundTrip round_trip_;
    Counters counters_;
};

}  // namespace srt
