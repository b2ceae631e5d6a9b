#include "live/hub/input_faults.h"

#include <gtest/gtest.h>

#include "runtime/loop/testing.h"

namespace live {
namespace {

class InputFaultsTest : public runtime::testing::RuntimeTest {};

TEST_F(InputFaultsTest, AreCountedByKind) {
    const InputFaults::Counts before = InputFaults::totals();
    InputFaults one("RTMP publish"), other("edge pull");
    EXPECT_EQ(one.last_ms(), 0);
    one.add(InputFaults::kVideo, "a");
    one.add(InputFaults::kVideo, std::string(1000, 'x'));
    other.add(InputFaults::kCodec, "b\n");
    EXPECT_EQ(one.counts(), (InputFaults::Counts{2, 0, 0, 0, 0}));
    EXPECT_EQ(one.total(), 2u);
    EXPECT_LT(one.last_text().size(), 200u);
    EXPECT_GT(one.last_ms(), 0);
    EXPECT_EQ(other.last_text().find('\n'), std::string::npos);
    EXPECT_EQ(InputFaults::totals()[InputFaults::kVideo], before[InputFaults::kVideo] + 2);
    EXPECT_EQ(InputFaults::totals()[InputFaults::kCodec], before[InputFaults::kCodec] + 1);
}

}  // namespace
}  // namespace live
