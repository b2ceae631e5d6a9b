#include "server/doctor/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "server/process/open_files.h"

namespace server::doctor {
namespace {

using Findings = std::vector<Finding>;

Finding good(std::string text) { return {"", Grade::kGood, std::move(text), ""}; }
Finding better(std::string text, std::string fix) { return {"", Grade::kBetter, std::move(text), std::move(fix)}; }
Finding bad(std::string text, std::string fix) { return {"", Grade::kBad, std::move(text), std::move(fix)}; }
Finding unknown(std::string text) { return {"", Grade::kUnknown, std::move(text), ""}; }

// ---- Limits

Findings open_files(const Facts& f) {
    const uint64_t wanted = open_files_for(f.max_connections);
    std::string text =
        fmt::format("{} are allowed, {} wanted for max_connections {}", f.open_files, wanted, f.max_connections);
    if (f.open_files >= wanted) return {good(std::move(text))};
    return {bad(std::move(text), fmt::format("ulimit -Hn {0} (in the shell that starts it), or LimitNOFILE={0} in its "
                                             "systemd unit",
                                             std::max<uint64_t>(wanted, 65536)))};
}

Findings at_least(const std::optional<int64_t>& value, int64_t wanted, const char* name, const char* why) {
    if (!value) return {unknown(fmt::format("{} cannot be read here", name))};
    std::string text = fmt::format("{} is {}", name, *value);
    if (*value >= wanted) return {good(std::move(text))};
    return {better(fmt::format("{}: {}", text, why), fmt::format("sysctl -w {}={}", name, wanted))};
}

constexpr int64_t kBufferBytes = 4 * 1024 * 1024;

Findings receive_buffers(const Facts& f) {
    return at_least(f.rmem_max, kBufferBytes, "net.core.rmem_max",
                    "bursts of UDP (WebRTC, SRT) are lost in small buffers");
}
Findings send_buffers(const Facts& f) {
    return at_least(f.wmem_max, kBufferBytes, "net.core.wmem_max",
                    "bursts of UDP (WebRTC, SRT) do not fit small buffers");
}
Findings backlog(const Facts& f) {
    return at_least(f.somaxconn, 4096, "net.core.somaxconn", "of many clients that come at once some are turned away");
}
Findings mappings(const Facts& f) {
    // Each coroutine's stack with its guard page needs two mappings; a connection has a coroutine until it is parked.
    return at_least(f.max_map_count, 2LL * f.max_connections + 20'000, "vm.max_map_count",
                    "too few for max_connections: beyond it stacks go without a guard page");
}

Findings local_ports(const Facts& f) {
    constexpr int64_t kWanted = 20'000;
    if (!f.local_ports) return {unknown("net.ipv4.ip_local_port_range cannot be read here")};
    const auto [low, high] = *f.local_ports;
    for (const Port& port : f.ports) {
        if (port.address.port < low || port.address.port > high) continue;
        return {better(fmt::format("{} to {}, and {} {} is among them: a connection going out may take it", low, high,
                                   port.what, port.address.port),
                       fmt::format("sysctl -w net.ipv4.ip_local_reserved_ports={}", port.address.port))};
    }
    std::string text = fmt::format("{} to {} for connections going out", low, high);
    if (high - low >= kWanted) return {good(std::move(text))};
    return {better(text + ": few for forwarding to many", "sysctl -w net.ipv4.ip_local_port_range=\"15000 65000\"")};
}

// ---- Resources named by the configuration

Finding evaluate_port(const Port& port) {
    const std::string name = fmt::format("{} {}", port.what, port.address.text());
    if (port.error == 0) return good(name + " is free");
    if (port.error == EADDRINUSE && port.holder == "srs")
        return good(fmt::format("{} is held by a running srs, pid {}", name, port.holder_pid));
    if (port.error == EADDRINUSE) {
        std::string holder =
            port.holder.empty() ? "another process" : fmt::format("{}, pid {}", port.holder, port.holder_pid);
        return bad(fmt::format("{} is in use by {}", name, holder),
                   fmt::format("ss -ltnp 'sport = :{}'", port.address.port));
    }
    if (port.error == EACCES)
        return bad(name + " needs a right that this user has not", "setcap cap_net_bind_service=+ep objs/srs");
    return bad(fmt::format("{}: {}", name, std::strerror(port.error)), "ip address");
}

Findings ports(const Facts& f) {
    Findings findings;
    for (const Port& port : f.ports) findings.push_back(evaluate_port(port));
    return findings;
}

Finding evaluate_certificate(const Certificate& c, int64_t now_s) {
    constexpr int64_t kDay = 86'400;
    constexpr int64_t kSoonDays = 21;
    const std::string name = fmt::format("{} {}", c.what, c.cert);
    const std::string renew =
        fmt::format("renew it, for example: certbot renew; then put it in {} and {}", c.cert, c.key);
    if (!c.error.empty()) return bad(fmt::format("{}: {}", name, c.error), renew);
    if (now_s < c.not_before_s)
        return bad(fmt::format("{} begins only in {} days", name, (c.not_before_s - now_s + kDay - 1) / kDay),
                   "date (is the clock right?)");
    if (now_s >= c.not_after_s)
        return bad(fmt::format("{} ended {} days ago", name, (now_s - c.not_after_s) / kDay), renew);
    const int64_t days = (c.not_after_s - now_s) / kDay;
    if (days < kSoonDays) return better(fmt::format("{} ends in {} days", name, days), renew);
    return good(fmt::format("{} is good for {} days", name, days));
}

Findings certificates(const Facts& f) {
    Findings findings;
    for (const Certificate& c : f.certificates) findings.push_back(evaluate_certificate(c, f.now_s));
    return findings;
}

Finding evaluate_disk(const Disk& disk) {
    constexpr uint64_t kMB = 1'000'000;
    constexpr double kSlow = 30;  // MB/s: about 60 recordings of 4 Mbit/s
    const std::string name = fmt::format("{} in {}", disk.what, disk.directory);
    if (disk.error != 0)
        return bad(fmt::format("{}: {}", name, std::strerror(disk.error)),
                   fmt::format("mkdir -p {0} && ls -ld {0}", disk.directory));
    const std::string space = fmt::format("{} MB of {} MB are free", disk.free_bytes / kMB, disk.total_bytes / kMB);
    if (disk.free_bytes < 100 * kMB)
        return bad(fmt::format("{}: {}", name, space), fmt::format("df -h {0}; du -xsh {0}/*", disk.directory));
    if (disk.free_bytes < 1000 * kMB || disk.free_bytes < disk.total_bytes / 50)
        return better(fmt::format("{}: {}", name, space), fmt::format("df -h {0}; du -xsh {0}/*", disk.directory));
    const std::string text = fmt::format("{}: {}, {:.0f} MB/s written", name, space, disk.written_mb_per_s);
    if (disk.written_mb_per_s < kSlow)
        return better(text + ": slow for recordings", "iostat -x 1 (which other process writes?)");
    return good(text);
}

Findings programs(const Facts& f) {
    Findings findings;
    for (const Program& program : f.programs) {
        if (!program.path.empty())
            findings.push_back(good(fmt::format("{}: {}", program.what, program.path)));
        else
            findings.push_back(
                bad(fmt::format("{}: {} does not exist or is not executable", program.what, program.name),
                    fmt::format("apt-get install ffmpeg, or correct the path; ls -l {}", program.name)));
    }
    return findings;
}

Findings disks(const Facts& f) {
    Findings findings;
    for (const Disk& disk : f.disks) findings.push_back(evaluate_disk(disk));
    return findings;
}

// ---- The machine

Findings clock_source(const Facts& f) {
    constexpr std::string_view kFast[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "xen"};
    if (f.clock_source.empty()) return {unknown("the clock source cannot be read here")};
    if (std::ranges::find(kFast, f.clock_source) != std::end(kFast))
        return {good(f.clock_source + ", read without a system call")};
    for (const std::string& other : f.clock_sources) {
        if (std::ranges::find(kFast, other) == std::end(kFast)) continue;
        return {
            better(fmt::format("{}: each reading of the clock is a system call; {} is there", f.clock_source, other),
                   fmt::format("echo {} > /sys/devices/system/clocksource/clocksource0/current_clocksource", other))};
    }
    return {better(f.clock_source + ": each reading of the clock is a system call, and there is no other source",
                   "dmesg | grep -i tsc (why it was given up)")};
}

Findings clock_sync(const Facts& f) {
    if (!f.clock_synchronised) return {unknown("whether the clock is synchronised cannot be read here")};
    if (*f.clock_synchronised) return {good("the kernel's clock is synchronised")};
    return {
        better("the kernel's clock is not synchronised: names of files, times in playlists and certificates go by it",
               "timedatectl set-ntp true, or apt install chrony")};
}

Findings governor(const Facts& f) {
    if (f.governors.empty()) return {good("the system does not change the processors' speed here")};
    const std::string names = fmt::format("{}", fmt::join(f.governors, ", "));
    if (f.governors == std::vector<std::string>{"performance"}) return {good(names)};
    return {better(names + ": short loads run on a slow clock", "cpupower frequency-set -g performance")};
}

Findings pinning(const Facts& f) {
    std::string text = fmt::format("this process may run on {} of {} processors", f.cpus_allowed, f.cpus_online);
    if (f.cpus_allowed >= 2 || f.cpus_online < 2) return {good(std::move(text))};
    return {better(text + ": the log, worker threads and the loop share it",
                   "taskset -pc 0-1 PID, or AllowedCPUs= in its systemd unit")};
}

// One processor is the loop's. A thread that is kept from running while it sends keeps the loop waiting.
Findings sender_threads(const Facts& f) {
    const int others = std::max(0, f.cpus_usable - 1);
    std::string text = fmt::format("{} beside the loop, on {} usable processors", f.sender_threads, f.cpus_usable);
    if (f.sender_threads <= others) return {good(std::move(text))};
    return {better(text + " (affinity, cpu.max of the cgroup): they take turns with the loop",
                   fmt::format("sender_threads {}; or auto", others))};
}

Findings interrupts(const Facts& f) {
    constexpr uint64_t kEnoughToTell = 100'000;
    const uint64_t total = std::accumulate(f.network_softirqs.begin(), f.network_softirqs.end(), uint64_t{0});
    if (f.network_softirqs.empty()) return {unknown("/proc/softirqs cannot be read here")};
    const auto most = std::ranges::max_element(f.network_softirqs);
    const auto cpu = most - f.network_softirqs.begin();
    const uint64_t percent = total ? *most * 100 / total : 0;
    const std::string text = fmt::format("processor {} has done {} % of the work of received packets", cpu, percent);
    if (f.network_softirqs.size() < 2 || total < kEnoughToTell || percent <= 80) return {good(text)};
    return {
        better(text + ": the server should run beside it, or the work be spread",
               fmt::format("taskset -pc {} PID; or echo {:x} > /sys/class/net/DEVICE/queues/rx-0/rps_cpus",
                           cpu == 0 ? 1 : 0, (uint64_t{1} << std::min<size_t>(f.network_softirqs.size(), 63)) - 1))};
}

struct Check {
    std::string_view name;
    Findings (*evaluate)(const Facts&);
};
constexpr Check kChecks[] = {
    {"open files", open_files},
    {"receive buffers", receive_buffers},
    {"send buffers", send_buffers},
    {"listen backlog", backlog},
    {"local ports", local_ports},
    {"memory mappings", mappings},
    {"port", ports},
    {"certificate", certificates},
    {"disk", disks},
    {"program", programs},
    {"clock source", clock_source},
    {"clock", clock_sync},
    {"CPU governor", governor},
    {"CPU pinning", pinning},
    {"sender threads", sender_threads},
    {"interrupts", interrupts},
};

}  // namespace

std::string_view grade_name(Grade grade) {
    switch (grade) {
        case Grade::kGood:
            return "good";
        case Grade::kBetter:
            return "better";
        case Grade::kBad:
            return "BAD";
        case Grade::kUnknown:
            break;
    }
    return "unknown";
}

std::vector<Finding> evaluate(const Facts& facts) {
    std::vector<Finding> all;
    for (const Check& check : kChecks) {
        for (Finding& finding : check.evaluate(facts)) {
            finding.check = check.name;
            all.push_back(std::move(finding));
        }
    }
    return all;
}

std::string report(const std::vector<Finding>& findings) {
    std::string text;
    size_t counts[4] = {};
    for (const Finding& finding : findings) {
        ++counts[static_cast<size_t>(finding.grade)];
        text += fmt::format("{:<8} {:<16} {}\n", grade_name(finding.grade), finding.check, finding.text);
        if (!finding.fix.empty()) text += fmt::format("{:<8} {:<16} -> {}\n", "", "", finding.fix);
    }
    auto count = [&](Grade grade) { return counts[static_cast<size_t>(grade)]; };
    return text + fmt::format("{} good, {} could be better, {} bad, {} not known\n", count(Grade::kGood),
                              count(Grade::kBetter), count(Grade::kBad), count(Grade::kUnknown));
}

bool has_bad(const std::vector<Finding>& findings) {
    return std::ranges::any_of(findings, [](const Finding& f) { return f.grade == Grade::kBad; });
}

}  // namespace server::doctor
