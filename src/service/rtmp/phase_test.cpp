#include "service/rtmp/phase.h"

#include <gtest/gtest.h>

namespace service::rtmp {
namespace {

constexpr Phase kAll[] = {Phase::kHandshake, Phase::kServing, Phase::kParked, Phase::kEnded};

TEST(Phase, EveryPhaseLeadsToTheEndAndNoneOutOfIt) {
    for (Phase phase : kAll) {
        EXPECT_EQ(may_enter(phase, Phase::kEnded), phase != Phase::kEnded);
        EXPECT_FALSE(may_enter(Phase::kEnded, phase));
        EXPECT_FALSE(may_enter(phase, phase));
        EXPECT_FALSE(may_enter(phase, Phase::kHandshake));
    }
}

TEST(Phase, AParkedConnectionHasNoCoroutine) {
    for (Phase phase : kAll) EXPECT_NE(has_coroutine(phase), phase == Phase::kParked || phase == Phase::kEnded);
    EXPECT_FALSE(may_enter(Phase::kHandshake, Phase::kParked));
}

}  // namespace
}  // namespace service::rtmp
