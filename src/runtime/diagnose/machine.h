#pragma once
// What the kernel reports about this process and this machine in the text files of /proc: CPU time, memory, disks,
// networks, sockets. The functions that parse are pure; read_machine() blocks on small reads: call it on a worker.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace runtime {

// /proc/stat's first line, in ticks of 10 ms.
struct CpuTimes {
    uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0, guest = 0;
    uint64_t total() const { return user + nice + system + idle + iowait + irq + softirq + steal; }
    uint64_t busy() const { return total() - idle - iowait; }
};
CpuTimes parse_cpu_times(std::string_view stat);

// The numbers of /proc/self/stat, by their names in proc(5). Those that are addresses are 0.
struct ProcessStat {
    std::string comm;
    char state = '?';
    std::vector<int64_t> numbers;             // from ppid on
    int64_t at(std::string_view name) const;  // 0 when it is not there
    static std::span<const std::string_view> names();
};
ProcessStat parse_process_stat(std::string_view stat);

// /proc/meminfo, kB by name.
std::map<std::string, uint64_t, std::less<>> parse_meminfo(std::string_view text);

struct DiskCounters {
    uint64_t sectors_read = 0, sectors_written = 0, busy_ms = 0;  // sectors of 512 bytes
    size_t disks = 0;
};
// Physical whole disks only: no partitions, no loop, ram or mapped devices.
DiskCounters parse_diskstats(std::string_view text);

struct NetworkCounters {
    uint64_t received_bytes = 0, sent_bytes = 0;              // of all interfaces but the loopback
    uint64_t local_received_bytes = 0, local_sent_bytes = 0;  // of the loopback
};
NetworkCounters parse_net_dev(std::string_view text);

struct SocketCounts {
    uint64_t tcp = 0, time_wait = 0, udp = 0, established = 0;
};
// Adds /proc/net/sockstat or sockstat6.
void add_sockstat(std::string_view text, SocketCounts& counts);
uint64_t parse_established(std::string_view snmp);

struct Machine {
    int64_t at_ms = 0;  // wall clock
    CpuTimes cpu;
    ProcessStat process;
    std::map<std::string, uint64_t, std::less<>> memory_kb;
    DiskCounters disk;
    NetworkCounters network;
    SocketCounts sockets;
    double load[3] = {};
    double uptime_s = 0;
    double idle_s = 0;
    int cpus = 1;
    int cpus_online = 1;
    uint64_t resident_kb = 0;  // of this process
};
Machine read_machine();

// All of a small file of the kernel, as /proc/self/cmdline; empty: it cannot be read. Blocks.
std::string read_small_file(const char* path);
// Processor time of this process, us.
int64_t process_cpu_us();
// Empty: it was removed.
std::string working_directory();

}  // namespace runtime
