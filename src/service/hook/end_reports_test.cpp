#include "service/hook/end_reports.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/clock.h"
#include "runtime/loop/testing.h"

namespace service::hook {
namespace {

class EndReportsTest : public runtime::testing::RuntimeTest {
  protected:
    void add(Hook hook, const std::string& client) { ends_.add({hook, "v", client, ""}); }
    static constexpr int64_t kWaitMs = 300;
    std::string reported_;
    EndReports ends_{[this](const EndReports::Report& report) {
                         reported_ += std::string(hook_name(report.hook)) + " " + report.client_id + ";";
                     },
                     kWaitMs};
};

TEST_F(EndReportsTest, AnEndWaitsForTheFilesOfItsClientAlone) {
    ends_.file_ending("a");
    ends_.file_ending("a");
    add(Hook::kOnUnpublish, "a");
    add(Hook::kOnClose, "a");
    add(Hook::kOnUnpublish, "b");
    add(Hook::kOnStop, "c");
    EXPECT_EQ(reported_, "on_unpublish b;on_stop c;");
    ends_.file_ended("a");
    EXPECT_EQ(reported_, "on_unpublish b;on_stop c;");
    reported_.clear();
    ends_.file_ended("a");
    EXPECT_EQ(reported_, "on_unpublish a;on_close a;");
    reported_.clear();
    add(Hook::kOnUnpublish, "a");
    EXPECT_EQ(reported_, "on_unpublish a;");
}

TEST_F(EndReportsTest, AConnectionsEndWaitsWhereOnUnpublishIsNotAskedFor) {
    ends_.file_ending("a");
    add(Hook::kOnStop, "a");
    add(Hook::kOnClose, "a");
    EXPECT_EQ(reported_, "on_stop a;");
    ends_.file_ended("a");
    EXPECT_EQ(reported_, "on_stop a;on_close a;");
}

TEST_F(EndReportsTest, ItDoesNotWaitForEver) {
    ends_.file_ending("a");
    add(Hook::kOnUnpublish, "a");
    const int64_t began = base::monotonic_ms();
    while (reported_.empty() && base::monotonic_ms() < began + 5'000) (void)runtime::sleep_ms(10).has_value();
    EXPECT_EQ(reported_, "on_unpublish a;");
    EXPECT_GE(base::monotonic_ms() - began, kWaitMs);
    ends_.file_ended("a");
    ends_.file_ended("a");  // of a file that was not announced: no effect
    EXPECT_EQ(reported_, "on_unpublish a;");
}

TEST_F(EndReportsTest, WhatWaitsIsBoundedAndToldAtTheEnd) {
    for (size_t i = 0; i <= EndReports::kMaxClients; ++i) {
        ends_.file_ending(std::to_string(i));
        add(Hook::kOnUnpublish, std::to_string(i));
    }
    EXPECT_EQ(reported_, "on_unpublish " + std::to_string(EndReports::kMaxClients) + ";");
    reported_.clear();
    ends_.send_all();
    EXPECT_EQ(std::ranges::count(reported_, ';'), static_cast<long>(EndReports::kMaxClients));
}

}  // namespace
}  // namespace service::hook
