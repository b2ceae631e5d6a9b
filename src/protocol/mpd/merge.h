#pragma once
// Merger: several presentations of one programme as one, between whose Representations players change. A track of each
// comes to the AdaptationSet of its kind, language, label and codec.
//
// Periods of all begin at the same moments: where one of any presentation begins, unless its times go on with those of
// the Period before by the wall clock. Where a Period began is remembered as long as there is a segment in it, so that
// what players have stays as it was when the presentation leaves that it came from. Pure: no clock.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "protocol/mpd/mpd.h"

namespace mpd {

class Merger {
  public:
    static constexpr size_t kMaxPeriods = 64;  // the newest ones
    // Times that are this near are the same.
    static constexpr int64_t kSameTimesUs = 100'000;
    // Periods that begin this near to each other are one.
    static constexpr int64_t kSameStartUs = 500'000;

    struct Member {
        std::string name;   // without white space; no other one has it: before the ids of its Representations
        Manifest manifest;  // URLs relative to the manifest of all
    };
    // The first one says what is said of the whole. No Periods: there are none of any.
    Manifest merge(std::span<const Member> members);

  private:
    struct Start {
        int64_t wall_us = 0;
        int64_t ahead_us = 0;  // the wall clock of the Period's times
    };
    void learn(const Period& period);
    size_t index_of(int64_t wall_us) const;
    void add(std::vector<Period>& out, const std::string& name, const Period& period, const Track& track,
             const Representation& one) const;

    std::vector<Start> starts_;  // by wall_us
};

}  // namespace mpd
