#include "runtime/diagnose/machine.h"

#include <gtest/gtest.h>

namespace runtime {
namespace {

TEST(Machine, CpuTimes) {
    const CpuTimes t = parse_cpu_times("cpu  10 20 30 400 50 6 7 8 9 0\ncpu0 1 2 3 4\n");
    EXPECT_EQ(t.user, 10u);
    EXPECT_EQ(t.guest, 9u);
    EXPECT_EQ(t.total(), 531u);
    EXPECT_EQ(t.busy(), 81u);
    EXPECT_EQ(parse_cpu_times("").total(), 0u);
    EXPECT_EQ(parse_cpu_times("intr 1 2").total(), 0u);
}

TEST(Machine, ProcessStatWithAnOddName) {
    const ProcessStat p = parse_process_stat(
        "42 (a) b (c)) S 1 42 42 0 -1 4194304 100 0 2 0 7 3 0 0 20 0 5 0 900 1000 250 "
        "18446744073709551615 1 1");
    EXPECT_EQ(p.comm, "(a) b (c))");
    EXPECT_EQ(p.state, 'S');
    EXPECT_EQ(p.at("ppid"), 1);
    EXPECT_EQ(p.at("tpgid"), -1);
    EXPECT_EQ(p.at("utime"), 7);
    EXPECT_EQ(p.at("rss"), 250);
    EXPECT_EQ(p.at("rsslim"), INT64_MAX);
    EXPECT_EQ(p.at("cguest_time"), 0) << "not in the text";
    EXPECT_EQ(parse_process_stat("nothing").at("ppid"), 0);
}

TEST(Machine, ProcessStatHasNoAddresses) {
    const ProcessStat p = parse_process_stat(
        "42 (srs) S 1 42 42 0 -1 4194304 100 0 2 0 7 3 0 0 20 0 5 0 900 1000 250 18446744073709551615 "
        "94530132037632 94530132541117 140735232184384 140735232180000 94530132100000 5 6 7 8 94530132100001 9 10 17");
    for (const char* name : {"startcode", "endcode", "startstack", "kstkesp", "kstkeip", "wchan"})
        EXPECT_EQ(p.at(name), 0) << name;
    EXPECT_EQ(p.at("signal"), 5);
    EXPECT_EQ(p.at("nswap"), 9);
    EXPECT_EQ(p.at("exit_signal"), 17);
}

TEST(Machine, Memory) {
    const auto memory = parse_meminfo("MemTotal:       100 kB\nMemFree:  40 kB\nnonsense\n");
    EXPECT_EQ(memory.at("MemTotal"), 100u);
    EXPECT_EQ(memory.at("MemFree"), 40u);
    EXPECT_EQ(memory.size(), 2u);
}

TEST(Machine, DisksWithoutTheirPartitions) {
    const DiskCounters disk = parse_diskstats(
        "   8  0 sda 1 2 300 4 5 6 700 8 9 10 11\n"
        "   8  1 sda1 1 2 300 4 5 6 700 8 9 10 11\n"
        "   7  0 loop0 1 2 300 4 5 6 700 8 9 10 11\n"
        " 259  0 nvme0n1 1 2 30 4 5 6 70 8 9 1 11\n"
        " 259  1 nvme0n1p1 1 2 30 4 5 6 70 8 9 1 11\n");
    EXPECT_EQ(disk.disks, 2u);
    EXPECT_EQ(disk.sectors_read, 330u);
    EXPECT_EQ(disk.sectors_written, 770u);
    EXPECT_EQ(disk.busy_ms, 11u);
}

TEST(Machine, NetworksAndTheLoopback) {
    const NetworkCounters network = parse_net_dev(
        "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes\n"
        "    lo: 50 1 0 0 0 0 0 0 60 1 0 0 0 0 0 0\n"
        "  eth0:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n"
        "  eth1: 1 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n");
    EXPECT_EQ(network.received_bytes, 1'001u);
    EXPECT_EQ(network.sent_bytes, 2'002u);
    EXPECT_EQ(network.local_received_bytes, 50u);
    EXPECT_EQ(network.local_sent_bytes, 60u);
}

TEST(Machine, Sockets) {
    SocketCounts counts;
    add_sockstat("sockets: used 9\nTCP: inuse 5 orphan 0 tw 3 alloc 6 mem 1\nUDP: inuse 2 mem 0\n", counts);
    add_sockstat("TCP6: inuse 1\nUDP6: inuse 4\n", counts);
    EXPECT_EQ(counts.tcp, 6u);
    EXPECT_EQ(counts.time_wait, 3u);
    EXPECT_EQ(counts.udp, 6u);
    EXPECT_EQ(parse_established("Ip: a b\nIp: 1 2\nTcp: ActiveOpens CurrEstab X\nTcp: 7 12 3\n"), 12u);
    EXPECT_EQ(parse_established("Tcp: ActiveOpens\nTcp: 7\n"), 0u);
}

TEST(Machine, ThisOne) {
    const Machine machine = read_machine();
    EXPECT_GT(machine.cpu.total(), 0u);
    EXPECT_GT(machine.resident_kb, 0u);
    EXPECT_GT(machine.memory_kb.at("MemTotal"), machine.resident_kb);
    EXPECT_GE(machine.cpus, 1);
    EXPECT_GT(machine.uptime_s, 0);
}

}  // namespace
}  // namespace runtime
