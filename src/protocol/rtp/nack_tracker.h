#pragma once
// The receiver's side of generic NACK (RFC 4585, 6.2.1) for one SSRC: which packets are missing, which of them to ask
// for now, and when to stop asking. Times are handed in, ms of any clock.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/rtp/unwrap.h"

namespace rtp {

class NackTracker {
  public:
    struct Options {
        size_t max_missing = 512;      // with more at once a keyframe helps sooner than asking
        unsigned max_tries = 10;       // of one packet, at most 32
        int64_t max_age_ms = 2000;     // nobody waits longer for it
        int64_t reorder_ms = 0;        // how long a packet may be late before the first question
        int64_t min_interval_ms = 20;  // between questions for one packet, if the round trip is shorter
    };
    struct Counters {
        uint64_t lost = 0;       // found missing
        uint64_t recovered = 0;  // that came after they had been asked for
        uint64_t asked = 0;      // questions, a packet may have several
        uint64_t given_up = 0;
    };

    NackTracker() : NackTracker(Options()) {}
    explicit NackTracker(Options options) : options_(options) {}

    // Each packet, also those that came by RTX (with their original sequence). False: it was here before, or was given
    // up.
    bool on_packet(uint16_t sequence, int64_t now_ms);

    // Which to ask for now, in rising order, at most out.size(); the others' turn comes with the next call. They count
    // as asked. round_trip_ms: 0 when it is not known, as it is to who only receives: then it is taken from how long
    // answers take (round_trip_ms()).
    std::span<const uint16_t> due(int64_t now_ms, int64_t round_trip_ms, std::span<uint16_t> out);
    int64_t round_trip_ms() const { return round_trip_x8_ / 8; }

    // Whether something was given up since the last call: decoding needs a keyframe to go on.
    bool take_damage();
    // What is before `sequence` is needed no more: a keyframe begins there.
    void forget_before(uint16_t sequence);

    // The next packet is the first of another row: nothing of this one is asked for any more.
    void restart();
    // Whether it is missing and was asked for.
    bool awaits(uint16_t sequence) const;

    size_t missing() const { return missing_.size(); }
    const Counters& counters() const { return counters_; }

  private:
    static constexpr int64_t kFirstRoundTripMs = 100, kMaxRoundTripMs = 1000;
    // After so many questions each waits twice as long as the one before, so that all of them are not spent within an
    // outage of a few round trips.
    static constexpr unsigned kEvenTries = 4;
    // So far back nothing is sent again: two packets in a row are a sender that numbers anew (RFC 3550, A.1).
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
    void give_up_old(int64_t now_ms);

    Options options_;
    SequenceUnwrapper unwrapper_;
    std::vector<Missing> missing_;  // rising
    Counters counters_;
    bool damage_ = false;
    int64_t restart_at_ = INT64_MIN;  // the sequence that would prove it
    int64_t round_trip_x8_ = 8 * kFirstRoundTripMs;
};

}  // namespace rtp
