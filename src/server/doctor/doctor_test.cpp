#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "server/doctor/evaluate.h"
#include "server/doctor/read.h"

namespace server::doctor {
namespace {

Facts healthy() {
    Facts f;
    f.now_s = 1'000'000'000;
    f.max_connections = 1000;
    f.open_files = 20'000;
    f.rmem_max = f.wmem_max = 16 * 1024 * 1024;
    f.somaxconn = 4096;
    f.max_map_count = 65'530;
    f.local_ports = {32'768, 60'999};
    f.ports = {{"rtmp/listen", {"", 1935}, 0, "", 0}};
    f.certificates = {{"rtmps", "a.crt", "a.key", "", 0, 1'000'000'000 + 86'400 * 90}};
    f.disks = {{"work_dir", ".", 0, 50'000'000'000, 100'000'000'000, 400}};
    f.programs = {{"transcode of vhost v", "ffmpeg", "/usr/bin/ffmpeg"}};
    f.clock_source = "tsc";
    f.clock_sources = {"tsc", "hpet"};
    f.clock_synchronised = true;
    f.governors = {"performance"};
    f.cpus_online = f.cpus_allowed = f.cpus_usable = 2;
    f.network_softirqs = {500'000, 400'000};
    return f;
}

struct Case {
    const char* name;
    void (*change)(Facts&);
    const char* check;
    Grade grade;
    const char* text;  // a part of it
    const char* fix;   // a part of it
};

class JudgeTest : public ::testing::TestWithParam<Case> {};

TEST_P(JudgeTest, FindsIt) {
    Facts facts = healthy();
    GetParam().change(facts);
    const auto findings = evaluate(facts);
    const auto found = std::ranges::find_if(findings, [](const Finding& f) { return f.check == GetParam().check; });
    ASSERT_NE(found, findings.end());
    EXPECT_EQ(found->grade, GetParam().grade) << found->text;
    EXPECT_NE(found->text.find(GetParam().text), std::string::npos) << found->text;
    EXPECT_NE(found->fix.find(GetParam().fix), std::string::npos) << found->fix;
    EXPECT_EQ(has_bad(findings), GetParam().grade == Grade::kBad);
    // No other finding is bad.
    for (const Finding& other : findings) {
        if (other.check == GetParam().check) continue;
        EXPECT_EQ(other.grade, Grade::kGood) << other.check << ": " << other.text;
    }
}

using enum Grade;
INSTANTIATE_TEST_SUITE_P(
    Doctor, JudgeTest,
    ::testing::Values(
        Case{"Files", [](Facts& f) { f.open_files = 1024; }, "open files", kBad, "1024 are allowed, 1257 wanted",
             "ulimit -Hn 65536"},
        Case{"Rmem", [](Facts& f) { f.rmem_max = 212'992; }, "receive buffers", kBetter, "rmem_max is 212992",
             "sysctl -w net.core.rmem_max=4194304"},
        Case{"Wmem", [](Facts& f) { f.wmem_max = 212'992; }, "send buffers", kBetter, "wmem_max is 212992",
             "sysctl -w net.core.wmem_max=4194304"},
        Case{"WmemUnknown", [](Facts& f) { f.wmem_max.reset(); }, "send buffers", kUnknown, "cannot be read", ""},
        Case{"Backlog", [](Facts& f) { f.somaxconn = 128; }, "listen backlog", kBetter, "somaxconn is 128",
             "somaxconn=4096"},
        Case{"FewPorts",
             [](Facts& f) {
                 f.local_ports = {60'000, 61'000};
             },
             "local ports", kBetter, "few", "ip_local_port_range"},
        Case{"PortAmongLocal",
             [](Facts& f) {
                 f.local_ports = {1024, 65'000};
             },
             "local ports", kBetter, "rtmp/listen 1935 is among them", "ip_local_reserved_ports=1935"},
        Case{"Mappings", [](Facts& f) { f.max_connections = 50'000, f.open_files = 60'000; }, "memory mappings",
             kBetter, "max_map_count is 65530", "vm.max_map_count=120000"},
        Case{"PortInUse",
             [](Facts& f) {
                 f.ports[0] = {"rtmp/listen", {"", 1935}, EADDRINUSE, "nginx", 77};
             },
             "port", kBad, "rtmp/listen 1935 is in use by nginx, pid 77", "ss -ltnp"},
        Case{"PortInUseByNobodyWeSee", [](Facts& f) { f.ports[0].error = EADDRINUSE; }, "port", kBad,
             "in use by another process", "ss -ltnp"},
        Case{"PortOfARunningServer",
             [](Facts& f) {
                 f.ports[0] = {"rtmp/listen", {"", 1935}, EADDRINUSE, "srs", 7};
             },
             "port", kGood, "held by a running srs, pid 7", ""},
        Case{"PortForbidden", [](Facts& f) { f.ports[0].error = EACCES; }, "port", kBad, "needs a right", "setcap"},
        Case{"PortOfNoAddress", [](Facts& f) { f.ports[0].error = EADDRNOTAVAIL; }, "port", kBad, "assign",
             "ip address"},
        Case{"CertificateEnded", [](Facts& f) { f.certificates[0].not_after_s = f.now_s - 86'400 * 3; }, "certificate",
             kBad, "ended 3 days ago", "renew"},
        Case{"CertificateEndsSoon", [](Facts& f) { f.certificates[0].not_after_s = f.now_s + 86'400 * 3 + 5; },
             "certificate", kBetter, "ends in 3 days", "renew"},
        Case{"CertificateBegins", [](Facts& f) { f.certificates[0].not_before_s = f.now_s + 5; }, "certificate", kBad,
             "begins only in 1 days", "date"},
        Case{"CertificateBroken", [](Facts& f) { f.certificates[0].error = "is no PEM certificate"; }, "certificate",
             kBad, "rtmps a.crt: is no PEM", "renew"},
        Case{"DiskFull", [](Facts& f) { f.disks[0].free_bytes = 50'000'000; }, "disk", kBad, "50 MB of 100000 MB",
             "df"},
        Case{"DiskNearlyFull", [](Facts& f) { f.disks[0].free_bytes = 900'000'000; }, "disk", kBetter, "900 MB", "df"},
        Case{"DiskSlow", [](Facts& f) { f.disks[0].written_mb_per_s = 8; }, "disk", kBetter, "8 MB/s", "iostat"},
        Case{"DiskNotWritable", [](Facts& f) { f.disks[0].error = EACCES; }, "disk", kBad, "Permission denied",
             "ls -ld"},
        Case{"ProgramMissing", [](Facts& f) { f.programs[0].path = ""; }, "program", kBad,
             "transcode of vhost v: ffmpeg does not exist", "apt-get install ffmpeg"},
        Case{"SlowClock", [](Facts& f) { f.clock_source = "hpet"; }, "clock source", kBetter, "tsc is there",
             "echo tsc"},
        Case{"OnlySlowClocks", [](Facts& f) { f.clock_source = "hpet", f.clock_sources = {"hpet"}; }, "clock source",
             kBetter, "no other source", "dmesg"},
        Case{"NoSync", [](Facts& f) { f.clock_synchronised = false; }, "clock", kBetter, "not synchronised",
             "timedatectl"},
        Case{"Governor", [](Facts& f) { f.governors = {"powersave"}; }, "CPU governor", kBetter, "powersave",
             "cpupower"},
        Case{"NoGovernor", [](Facts& f) { f.governors = {}; }, "CPU governor", kGood, "does not change", ""},
        Case{"Pinned", [](Facts& f) { f.cpus_allowed = 1; }, "CPU pinning", kBetter, "1 of 2", "taskset"},
        Case{"SenderThreads", [](Facts& f) { f.sender_threads = 1; }, "sender threads", kGood, "1 beside the loop", ""},
        Case{"TooManySenderThreads", [](Facts& f) { f.sender_threads = 2; }, "sender threads", kBetter,
             "2 beside the loop, on 2 usable processors", "sender_threads 1; or auto"},
        Case{"SenderThreadsUnderAQuota",
             [](Facts& f) { f.cpus_online = f.cpus_allowed = 64, f.cpus_usable = 1, f.sender_threads = 4; },
             "sender threads", kBetter, "4 beside the loop, on 1 usable processors (affinity, cpu.max",
             "sender_threads 0; or auto"},
        Case{"Interrupts", [](Facts& f) { f.network_softirqs = {900'000, 100'000}; }, "interrupts", kBetter,
             "processor 0 has done 90 %", "taskset -pc 1 PID; or echo 3 >"},
        Case{"FewInterrupts", [](Facts& f) { f.network_softirqs = {900, 1}; }, "interrupts", kGood, "99 %", ""}),
    [](const auto& info) { return info.param.name; });

TEST(Doctor, HealthyIsGood) {
    const auto findings = evaluate(healthy());
    for (const Finding& finding : findings) {
        EXPECT_EQ(finding.grade, kGood) << finding.check << ": " << finding.text;
        EXPECT_EQ(finding.fix, "") << finding.check;
    }
    EXPECT_EQ(findings.size(), 16u);
    EXPECT_FALSE(has_bad(findings));
    EXPECT_TRUE(report(findings).ends_with("16 good, 0 could be better, 0 bad, 0 not known\n"));
}

TEST(Doctor, Report) {
    const std::vector<Finding> findings = {{"port", kBad, "1935 is in use", "ss"}, {"clock", kGood, "right", ""}};
    EXPECT_EQ(report(findings),
              "BAD      port             1935 is in use\n"
              "                          -> ss\n"
              "good     clock            right\n"
              "1 good, 0 could be better, 1 bad, 0 not known\n");
    EXPECT_TRUE(has_bad(findings));
}

TEST(Doctor, ReadsKernelTables) {
    EXPECT_EQ(parse_network_softirqs("          CPU0 CPU1\n  TIMER:  5  6\n NET_RX:  70  8\n NET_TX: 1 1\n"),
              (std::vector<uint64_t>{70, 8}));
    EXPECT_TRUE(parse_network_softirqs("").empty());
    constexpr std::string_view kTcp =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:078F 0100007F:1234 01 00000000:00000000 00:00000000 00000000     0        0 111 1\n"
        "   1: 00000000:078F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1\n";
    EXPECT_EQ(parse_listener_inode(kTcp, 1935), 222u);
    EXPECT_EQ(parse_listener_inode(kTcp, 1936), 0u);
}

// Runs on any machine: the facts must be plausible, and a port in use is reported with its owner.
TEST(Doctor, ReadsThisMachine) {
    auto snapshot = *config::default_snapshot();
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&at), size), 0);
    ASSERT_EQ(listen(fd, 1), 0);
    ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size), 0);
    snapshot.rtmp.listen = {{"127.0.0.1", ntohs(at.sin_port)}};
    snapshot.global.sender_threads = "3";
    snapshot.rtmps = {true, {{"127.0.0.1", 0}}, "/no/key", "/no/cert"};
    const Facts facts = read_facts(snapshot);
    ::close(fd);
    ASSERT_EQ(facts.ports.size(), 2u);
    EXPECT_EQ(facts.ports[0].error, EADDRINUSE);
    EXPECT_EQ(facts.ports[0].holder_pid, getpid());
    EXPECT_EQ(facts.ports[1].error, 0);
    ASSERT_EQ(facts.certificates.size(), 1u);
    EXPECT_EQ(facts.certificates[0].error, "No such file or directory");
    EXPECT_GT(facts.open_files, 0u);
    EXPECT_GE(facts.cpus_online, 1);
    EXPECT_GE(facts.cpus_allowed, 1);
    EXPECT_GE(facts.cpus_usable, 1);
    EXPECT_LE(facts.cpus_usable, facts.cpus_allowed);
    EXPECT_EQ(facts.sender_threads, 3);
    ASSERT_FALSE(facts.disks.empty());
    EXPECT_GT(facts.disks.back().total_bytes, 0u);
    EXPECT_EQ(evaluate(facts).size(), 13u + facts.ports.size() + facts.certificates.size() + facts.disks.size() - 1);
}

}  // namespace
}  // namespace server::doctor
