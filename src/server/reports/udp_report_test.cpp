#include "server/reports/udp_report.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/log.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/udp.h"

namespace server {
namespace {

using runtime::testing::ok;

class UdpReportTest : public runtime::testing::RuntimeTest {};

TEST_F(UdpReportTest, LossIsInTheLog) {
    const std::string path = ::testing::TempDir() + "udp_report_" + std::to_string(getpid()) + ".log";
    ASSERT_TRUE(ok(base::log::open({.console = false, .file = path})));
    auto snapshot = std::make_shared<config::Snapshot>(*config::default_snapshot());
    snapshot->global.pithy_print_ms = 100;
    UdpReport report(snapshot);
    ASSERT_TRUE(ok(report.start()));
    auto receiver = runtime::bind_udp({"127.0.0.1", 0}, {.receive_buffer_bytes = 4096});
    ASSERT_TRUE(ok(receiver));
    const base::Endpoint to{*base::IpAddress::parse("127.0.0.1"), (*receiver)->port()};
    std::array<uint8_t, 1000> bytes{};
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(ok((*receiver)->send_to(bytes, to, runtime::Deadline::in_ms(1000))));
    std::string log;
    for (int i = 0; i < 200 && log.find("UDP: 1 sockets") == log.npos; ++i) {
        ASSERT_TRUE(ok(runtime::sleep_ms(50)));
        base::log::flush();
        std::stringstream text;
        text << std::ifstream(path).rdbuf();
        log = text.str();
    }
    report.stop();
    base::log::close();
    std::remove(path.c_str());
    const size_t warned = log.find("[warn]");
    ASSERT_NE(warned, log.npos) << log;
    EXPECT_NE(log.find("UDP: datagrams were lost in this second: loss=(r:", warned), log.npos) << log;
    EXPECT_EQ(log.find("loss=(r:0,"), log.npos) << log;
    EXPECT_NE(log.find("UDP: 1 sockets, a second: received 0, sent "), log.npos) << log;
}

}  // namespace
}  // namespace server
