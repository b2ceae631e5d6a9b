#pragma once
// The receiver's side of generic NACK (RFC 4585, 6.2.1) for one SSRC: which packets are missing, which of them to
// request now, and when to stop requesting. The caller passes times in ms of any clock.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/rtp/unwrap.h"

namespace rtp {

class NackTracker {
  public:
    struct Options {
        size_t max_missing = 512;      // with more missing at once, a keyframe helps sooner than NACKs
        unsigned max_tries = 10;       // NACKs for one packet, at most 32
        int64_t max_age_ms = 2000;     // after this time the packet is no longer useful
        int64_t reorder_ms = 0;        // how long a packet may be late before the first NACK
        int64_t min_interval_ms = 20;  // between NACKs for one packet, if the round trip is shorter
    };
    struct Counters {
        uint64_t lost = 0;       // detected as missing
        uint64_t recovered = 0;  // arrived after a NACK
        uint64_t asked = 0;      // NACKs sent; one packet may have several
        uint64_t given_up = 0;
    };

    NackTracker() : NackTracker(Options()) {}
    explicit NackTracker(Options options) : options_(options) {}

    // Call it for each packet, also for those received by RTX (with their original sequence number). False: a
    // duplicate, or a packet that was given up.
    bool on_packet(uint16_t sequence, int64_t now_ms);

    // The packets to request now, in ascending order, at most out.size(); the rest follows with the next call. They
    // count as requested. round_trip_ms: 0 when unknown, as for a pure receiver: then it is estimated from the time
    // that retransmissions take (round_trip_ms()).
    std::span<const uint16_t> due(int64_t now_ms, int64_t round_trip_ms, std::span<uint16_t> out);
    int64_t round_trip_ms() const { return round_trip_x8_ / 8; }

    // Whether a packet was given up since the last call: decoding needs a keyframe to continue.
    bool take_damage();

    // Whether the sender seems to ignore requests: it has answered none, and has been requested the same packet again
    // for kIgnoredMs.
    bool is_ignored(int64_t now_ms) const;
    // From now on nothing is requested: each missing packet is damage at once.
    void give_up();

    // Starts a new sequence with the next packet: packets of the old one are no longer requested.
    void restart();
    // Whether the packet is missing and was requested.
    bool awaits(uint16_t sequence) const;

    size_t missing() const { return missing_.size(); }
    // When the oldest of them was missed; nothing: none is missing.
    std::optional<int64_t> missing_since_ms() const {
        return missing_.empty() ? std::nullopt : std::optional(missing_.front().since_ms);
    }
    // due() and take_damage() would return nothing before the next packet.
    bool idle() const { return missing_.empty() && !damage_; }
    const Counters& counters() const { return counters_; }

  private:
    static constexpr int64_t kFirstRoundTripMs = 100, kMaxRoundTripMs = 1000;
    static constexpr int64_t kIgnoredMs = 600;
    // After this many NACKs for a packet each interval is twice the one before, so that the tries are not used up
    // within an outage of a few round trips.
    static constexpr unsigned kEvenTries = 4;
    // Retransmissions never lie this far back: two consecutive packets there mean that the sender has restarted its
    // sequence numbers (RFC 3550, A.1).
    static constexpr int64_t kMaxBack = 3000;
    struct Missing {
        int64_t sequence;
        int64_t since_ms;
        int64_t first_asked_ms, asked_ms;
        unsigned tries;
    };
    void add_gap(int64_t from, int64_t to, int64_t now_ms);
    bool take(int64_t sequence, int64_t now_ms);
    bool is_restart(int64_t sequence);
    void learn_round_trip(const Missing& answered, int64_t now_ms);
    void give_up_all();
    void give_up_old(int64_t now_ms);

    Options options_;
    SequenceUnwrapper unwrapper_;
    std::vector<Missing> missing_;  // in ascending order
    Counters counters_;
    bool damage_ = false;
    int64_t restart_at_ = INT64_MIN;  // the next sequence number that would confirm a restart
    int64_t round_trip_x8_ = 8 * kFirstRoundTripMs;
};

}  // namespace rtp
