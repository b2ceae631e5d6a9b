#pragma once
// The receiving side of a connection, a publisher's or a pull's (draft-sharabayko-srt, 4.5 to 4.8): order, repair by
// NAK, acknowledgement, and giving up what comes too late.
//
// Data in order are delivered at once; only what comes after a hole waits. A hole is given up when the packet after it
// is due: the agreed latency after the time that its timestamp says, and not later than the latency after its arrival
// (tlpktdrop on); or never (off): then a hole that is not filled ends the session when the buffer is full.
//
// Times are us of any steady clock. Headers are parsed and payloads are decrypted by the caller. No function yields.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/flat_queue.h"
#include "base/slice.h"
#include "protocol/srt/pacing.h"
#include "protocol/srt/packet.h"
#include "protocol/srt/round_trip.h"
#include "protocol/srt/sequence.h"

namespace srt {

// Where data go to, in order. It must not call the receiver or its connection.
class DataSink {
  public:
    virtual ~DataSink() = default;
    struct Message {
        std::span<const uint8_t> bytes;  // valid during the call
        int64_t timestamp_us;            // of the sender's clock, extended to 64 bits
        uint64_t skipped;                // packets that were given up directly before this one
    };
    virtual void on_message(const Message& message) = 0;
};

// A data packet as it came.
struct Arrival {
    uint32_t sequence = 0;
    uint32_t timestamp_us = 0;
    bool retransmitted = false;
    bool readable = true;  // false: it could not be decrypted. It is acknowledged, and counts as skipped.
    std::span<const uint8_t> payload;
};

class Receiver {
  public:
    struct Options {
        uint32_t initial_sequence = 0;
        int64_t latency_us = 120'000;
        // Of the peer's conclusion, when it came and the timestamp in it: they relate the peer's clock to ours (4.5.1).
        int64_t conclusion_us = 0;
        uint32_t conclusion_timestamp_us = 0;
        uint32_t window = 8192;     // packets kept behind holes, holes included
        uint32_t reorder = 0;       // packets that may overtake one before it is requested (SRTO_LOSSMAXTTL)
        bool drop_too_late = true;  // tlpktdrop
    };
    struct Counters {
        uint64_t packets = 0, bytes = 0;  // all that came, with duplicates
        uint64_t delivered = 0;
        uint64_t lost = 0;           // missing when a later one came
        uint64_t retransmitted = 0;  // came with the flag of a retransmission
        uint64_t recovered = 0;      // missing ones that came
        uint64_t skipped = 0;        // given up, or unreadable
        uint64_t unreadable = 0;
        uint64_t belated = 0;        // came after they had been given up
        uint64_t duplicates = 0;     // came again
        uint64_t out_of_window = 0;  // far beyond the others, or after too many gaps
        uint64_t requested = 0;      // packets in NAKs
    };
    enum class Failure : uint8_t { kNone, kBufferFull };

    explicit Receiver(const Options& options);

    void on_data(int64_t now_us, const Arrival& arrival, DataSink& sink);
    // False: the packet would be counted and dropped, so that decrypting it is a waste.
    bool is_wanted(uint32_t sequence) const;
    void on_ack_ack(int64_t now_us, uint32_t number, uint32_t timestamp_us);
    // The peer will not send these (DROPREQ).
    void on_drop_request(int64_t now_us, SequenceRange range, DataSink& sink);
    // Gives up holes that are due, or the session. Call it at deadline().
    void on_time(int64_t now_us, DataSink& sink);
    // Delivers all that is left: at SHUTDOWN, or when the peer is gone.
    void flush(int64_t now_us, DataSink& sink);

    // The ACK to be sent now, if any, and the ranges of the NAK; they count as sent. What the NAK has no room for
    // follows 10 ms later.
    std::optional<Ack> next_ack(int64_t now_us);
    void write_nak(int64_t now_us, NakWriter& nak);
    // When on_time(), next_ack() or write_nak() has something to do.
    int64_t deadline() const;

    Failure failure() const { return failure_; }
    // The next sequence number to be delivered, extended: what is acknowledged.
    int64_t next_sequence() const { return next_; }
    size_t missing() const { return missing_; }
    // Packets behind the first hole, holes included.
    size_t buffered() const { return slots_.size(); }
    size_t buffered_bytes() const { return buffered_bytes_; }
    const RoundTrip& round_trip() const { return round_trip_; }
    const RateMeter& rate() const { return rate_; }
    const Counters& counters() const { return counters_; }
    // How far the peer's clock has moved against ours since the handshake.
    int64_t drift_us() const { return time_base_us_ - first_time_base_us_; }

  private:
    enum class State : uint8_t { kMissing, kReadable, kUnreadable, kDropped };
    struct Slot {
        base::Slice payload;
        int64_t timestamp_us = 0;
        int64_t time_us = 0;  // arrival; of a missing one when it was noticed or requested last
        State state = State::kMissing;
    };
    struct SentAck {
        int64_t sent_us;
        int64_t next;
    };

    Slot& slot(int64_t sequence) { return slots_[static_cast<size_t>(sequence - next_)]; }
    int64_t end() const { return next_ + static_cast<int64_t>(slots_.size()); }
    bool make_room(int64_t now_us, int64_t sequence, DataSink& sink);
    bool may_append(int64_t now_us, int64_t to);
    void append_missing(int64_t now_us, int64_t to);
    void keep(int64_t now_us, int64_t sequence, int64_t timestamp_us, const Arrival& arrival);
    void deliver_one(State state, std::span<const uint8_t> payload, int64_t timestamp_us, DataSink& sink);
    void deliver(int64_t now_us, DataSink& sink);
    void skip_hole(int64_t now_us, int64_t to, DataSink& sink);
    void skip_to(int64_t now_us, int64_t to, DataSink& sink);
    void count_old(int64_t sequence);
    void report_gaps(int64_t now_us);
    int64_t hole_due_us() const;
    void schedule_ack(int64_t now_us);
    void add_drift_sample(int64_t now_us, uint32_t timestamp_us);
    int64_t nak_period_us() const;

    static constexpr int64_t kAckPeriodUs = 10'000;
    static constexpr uint32_t kLightAckPackets = 64;
    static constexpr size_t kMaxSentAcks = 512;
    static constexpr int64_t kMinNakPeriodUs = 20'000, kNakSpacingUs = 10'000;
    static constexpr int64_t kDriftPeriodUs = 10'000'000;
    static constexpr int kMinDriftSamples = 16;
    static constexpr int64_t kMaxDriftUs = 1'000'000;  // a sample's share
    static constexpr int64_t kRequestNow = INT64_MIN / 2;
    static constexpr int64_t kMaxFarStep = 64;
    static constexpr TokenBucket::Limit kGapLimit{.rate = 100'000, .burst = 25'000};  // numbers
    static constexpr int64_t kMaxHoleUs = 30'000'000;                                 // without too-late drop

    Options options_;
    base::FlatQueue<Slot> slots_;  // from next_ on; empty, or the first one is missing
    int64_t next_;
    int64_t hole_end_ = 0;  // the first packet that is not missing, if there are slots
    int64_t hole_since_us_ = 0;
    int64_t far_ = kNever;    // a packet far beyond the window, which the next one may confirm
    TokenBucket gap_bucket_;  // numbers in gaps
    size_t missing_ = 0, buffered_bytes_ = 0;
    uint64_t skipped_before_ = 0;
    std::array<ExtendedRange, 8> recently_skipped_{};
    size_t skips_ = 0;
    Failure failure_ = Failure::kNone;

    int64_t unreported_;            // gaps from here on are not requested yet: packets may have been overtaken
    int64_t urgent_from_ = kNever;  // where the first one lies that has not been requested and is to be at once
    int64_t nak_due_us_ = kNever;   // of those that have been

    base::FlatQueue<SentAck> sent_acks_;
    uint32_t first_sent_ack_ = 1;
    int64_t acked_, light_acked_;  // positions of the last full, the last full or light ACK
    int64_t ack_due_us_ = kNever;
    uint32_t since_ack_ = 0;

    RoundTrip round_trip_;
    int64_t first_rtt_us_ = 0;
    int64_t first_time_base_us_, time_base_us_;
    int64_t drift_since_us_ = 0, drift_sum_us_ = 0;
    int drift_samples_ = 0;
    RateMeter rate_;
    Counters counters_;
};

}  // namespace srt
