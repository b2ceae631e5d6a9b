#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>

#include "net/sessions/session_query.h"
#include "net/sessions/usage_ledger.h"
#include "service/api/service_testing.h"

namespace service::api {
namespace {

using runtime::testing::ok;

class PastTest : public testing::ApiTest {
  protected:
    net::UsageLedger ledger_{100'000};
};

int64_t cpu_us() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
}

TEST_F(PastTest, ASortByViewersCountsEachRowOnce) {
    offers_.usage = &ledger_;
    constexpr uint64_t kRows = 2000, kOdd = 0x9E3779B97F4A7C15;
    for (uint64_t row = 0; row < kRows; ++row) {
        net::Usage& usage = ledger_.change({20261129, {"v", "live", fmt::format("s{}", row)}, ""});
        usage.sent = row;
        // Different numbers, in another order than those of the bytes.
        const uint64_t viewers = 100 + row * 7 % kRows % 50 * 100;
        for (uint64_t i = 1; i <= viewers; ++i) usage.viewers.add(i * kOdd);
    }
    const auto cost_of = [&](const char* column) {
        const int64_t begin = cpu_us();
        const Json answer = json(fmt::format("/api/v1/usage?count=10&sort=-{}", column));
        EXPECT_EQ(answer.value("total", 0), 2000) << answer;
        return cpu_us() - begin;
    };
    cost_of("sent");
    const int64_t by_sent = cost_of("sent"), by_viewers = cost_of("viewers");
    EXPECT_LT(by_viewers, 3 * by_sent + 20'000) << "each comparison counts, or so it seems; by sent: " << by_sent;
    const Json rows = json("/api/v1/usage?count=2000&sort=viewers")["usage"];
    ASSERT_EQ(rows.size(), kRows);
    for (size_t i = 1; i < rows.size(); ++i)
        ASSERT_LE(rows[i - 1]["unique_viewers"].get<int>(), rows[i]["unique_viewers"].get<int>()) << i;
    EXPECT_LT(rows.front()["unique_viewers"].get<int>(), rows.back()["unique_viewers"].get<int>());
}

}  // namespace
}  // namespace service::api
