#include "service/rtmp/phase.h"

#include <gtest/gtest.h>

namespace service::rtmp {
namespace {

constexpr Phase kAll[] = {Phase::kHandshake, Phase::kServing,  Phase::kParked,
                          Phase::kAsking,    Phase::kResuming, Phase::kEnded};

TEST(Phase, EveryPhaseLeadsToTheEndAndNoneOutOfIt) {
    for (Phase phase : kAll) {
        EXPECT_EQ(may_enter(phase, Phase::kEnded), phase != Phase::kEnded);
        EXPECT_FALSE(may_enter(Phase::kEnded, phase));
        EXPECT_FALSE(may_enter(phase, phase));
        EXPECT_FALSE(may_enter(phase, Phase::kHandshake));
    }
}

TEST(Phase, InputWaitsOnlyForACoroutineThatParkedConnectionsStart) {
    for (Phase phase : kAll) {
        EXPECT_EQ(input_waits(phase), may_enter(Phase::kParked, phase) && has_coroutine(phase));
    }
}

}  // namespace
}  // namespace service::rtmp
