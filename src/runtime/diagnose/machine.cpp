#include "runtime/diagnose/machine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdio>

#include "base/clock.h"

namespace runtime {

namespace {

std::string_view take_line(std::string_view& text) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

std::string_view take_word(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\n"), line.size()));
    const size_t end = std::min(line.find_first_of(" \t\n"), line.size());
    std::string_view word = line.substr(0, end);
    line.remove_prefix(end);
    return word;
}

template <class T = uint64_t>
T number(std::string_view word) {
    T value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
}

// The word after `name`; 0 when it is missing.
uint64_t number_after(std::string_view line, std::string_view name) {
    while (!line.empty())
        if (take_word(line) == name) return number(take_word(line));
    return 0;
}

// "sda", "vdb", "xvda", "hda", "nvme0n1", "mmcblk0": a name with another ending is a partition.
bool is_disk(std::string_view name) {
    for (std::string_view kind : {"sd", "vd", "xvd", "hd"}) {
        if (!name.starts_with(kind)) continue;
        return std::ranges::all_of(name.substr(kind.size()), [](char c) { return c >= 'a' && c <= 'z'; });
    }
    if (name.starts_with("nvme")) return name.find('p') == name.npos && name.find('n', 4) != name.npos;
    return name.starts_with("mmcblk") && name.find('p') == name.npos;
}

}  // namespace

std::string read_small_file(const char* path) {
    std::string out;
    if (std::FILE* file = std::fopen(path, "re")) {
        char piece[4096];
        while (const size_t n = std::fread(piece, 1, sizeof piece, file)) out.append(piece, n);
        std::fclose(file);
    }
    return out;
}

int64_t process_cpu_us() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto us = [](const timeval& time) { return time.tv_sec * 1'000'000LL + time.tv_usec; };
    return us(used.ru_utime) + us(used.ru_stime);
}

std::string working_directory() {
    char directory[PATH_MAX];
    return getcwd(directory, sizeof directory) ? directory : "";
}

CpuTimes parse_cpu_times(std::string_view stat) {
    std::string_view line = take_line(stat);
    CpuTimes t;
    if (take_word(line) != "cpu") return t;
    for (uint64_t* field : {&t.user, &t.nice, &t.system, &t.idle, &t.iowait, &t.irq, &t.softirq, &t.steal, &t.guest})
        *field = number(take_word(line));
    return t;
}

// Also called on a worker, which may still run while the process exits: nothing here has a destructor.
std::span<const std::string_view> ProcessStat::names() {
    static constexpr std::string_view kNames[] = {"ppid",        "pgrp",        "session",
                                                  "tty_nr",      "tpgid",       "flags",
                                                  "minflt",      "cminflt",     "majflt",
                                                  "cmajflt",     "utime",       "stime",
                                                  "cutime",      "cstime",      "priority",
                                                  "nice",        "num_threads", "itrealvalue",
                                                  "starttime",   "vsize",       "rss",
                                                  "rsslim",      "startcode",   "endcode",
                                                  "startstack",  "kstkesp",     "kstkeip",
                                                  "signal",      "blocked",     "sigignore",
                                                  "sigcatch",    "wchan",       "nswap",
                                                  "cnswap",      "exit_signal", "processor",
                                                  "rt_priority", "policy",      "delayacct_blkio_ticks",
                                                  "guest_time",  "cguest_time"};
    return kNames;
}

namespace {
// Where code and stack lie would tell an attacker what address space layout randomization hides.
bool is_address(std::string_view name) {
    constexpr std::string_view kAddresses[] = {"startcode", "endcode", "startstack", "kstkesp", "kstkeip", "wchan"};
    return std::ranges::find(kAddresses, name) != std::end(kAddresses);
}
}  // namespace

// The name in parentheses may contain anything, also parentheses.
ProcessStat parse_process_stat(std::string_view stat) {
    ProcessStat process;
    const size_t open = stat.find('('), close = stat.rfind(')');
    if (open == stat.npos || close == stat.npos || close < open) return process;
    process.comm = stat.substr(open, close + 1 - open);
    std::string_view rest = stat.substr(close + 1);
    if (std::string_view state = take_word(rest); !state.empty()) process.state = state[0];
    for (const std::string_view name : ProcessStat::names()) {
        std::string_view word = take_word(rest);
        if (word.empty()) break;
        if (is_address(name)) word = "0";
        // Limits may be above 2^63.
        process.numbers.push_back(word.starts_with('-')
                                      ? number<int64_t>(word)
                                      : static_cast<int64_t>(std::min(number(word), uint64_t{INT64_MAX})));
    }
    return process;
}

int64_t ProcessStat::at(std::string_view name) const {
    const auto index = static_cast<size_t>(std::ranges::find(names(), name) - names().begin());
    return index < numbers.size() ? numbers[index] : 0;
}

std::map<std::string, uint64_t, std::less<>> parse_meminfo(std::string_view text) {
    std::map<std::string, uint64_t, std::less<>> out;
    while (!text.empty()) {
        std::string_view line = take_line(text);
        std::string_view name = take_word(line);
        if (name.ends_with(':')) out.emplace(name.substr(0, name.size() - 1), number(take_word(line)));
    }
    return out;
}

DiskCounters parse_diskstats(std::string_view text) {
    DiskCounters out;
    while (!text.empty()) {
        std::string_view line = take_line(text);
        take_word(line), take_word(line);
        if (!is_disk(take_word(line))) continue;
        uint64_t field[10] = {};
        for (uint64_t& one : field) one = number(take_word(line));
        out.sectors_read += field[2];
        out.sectors_written += field[6];
        out.busy_ms += field[9];
        ++out.disks;
    }
    return out;
}

NetworkCounters parse_net_dev(std::string_view text) {
    NetworkCounters out;
    while (!text.empty()) {
        std::string_view line = take_line(text);
        const size_t colon = line.find(':');
        if (colon == line.npos) continue;
        std::string_view head = line.substr(0, colon), rest = line.substr(colon + 1);
        const bool local = take_word(head) == "lo";
        uint64_t field[9] = {};
        for (uint64_t& one : field) one = number(take_word(rest));
        (local ? out.local_received_bytes : out.received_bytes) += field[0];
        (local ? out.local_sent_bytes : out.sent_bytes) += field[8];
    }
    return out;
}

void add_sockstat(std::string_view text, SocketCounts& counts) {
    while (!text.empty()) {
        std::string_view line = take_line(text);
        std::string_view name = take_word(line);
        if (name == "TCP:" || name == "TCP6:") {
            counts.tcp += number_after(line, "inuse");
            counts.time_wait += number_after(line, "tw");
        } else if (name == "UDP:" || name == "UDP6:") {
            counts.udp += number_after(line, "inuse");
        }
    }
}

// A line of names, then a line of values.
uint64_t parse_established(std::string_view snmp) {
    std::string_view names;
    while (!snmp.empty()) {
        std::string_view line = take_line(snmp);
        if (!line.starts_with("Tcp:")) continue;
        if (names.empty()) {
            names = line;
            continue;
        }
        while (!names.empty() && !line.empty()) {
            std::string_view value = take_word(line);
            if (take_word(names) == "CurrEstab") return number(value);
        }
        return 0;
    }
    return 0;
}

Machine read_machine() {
    Machine machine;
    machine.at_ms = base::wall_ms();
    machine.cpu = parse_cpu_times(read_small_file("/proc/stat"));
    machine.process = parse_process_stat(read_small_file("/proc/self/stat"));
    machine.memory_kb = parse_meminfo(read_small_file("/proc/meminfo"));
    machine.disk = parse_diskstats(read_small_file("/proc/diskstats"));
    machine.network = parse_net_dev(read_small_file("/proc/net/dev"));
    add_sockstat(read_small_file("/proc/net/sockstat"), machine.sockets);
    add_sockstat(read_small_file("/proc/net/sockstat6"), machine.sockets);
    machine.sockets.established = parse_established(read_small_file("/proc/net/snmp"));
    const std::string load = read_small_file("/proc/loadavg"), uptime = read_small_file("/proc/uptime");
    std::sscanf(load.c_str(), "%lf %lf %lf", &machine.load[0], &machine.load[1], &machine.load[2]);
    std::sscanf(uptime.c_str(), "%lf %lf", &machine.uptime_s, &machine.idle_s);
    machine.cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
    machine.cpus_online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    machine.resident_kb = static_cast<uint64_t>(machine.process.at("rss") * sysconf(_SC_PAGESIZE) / 1024);
    return machine;
}

}  // namespace runtime
