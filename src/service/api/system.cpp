#include "service/api/system.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "runtime/threads/workers.h"
#include "service/api/earlier/upgrade_endpoint.h"

namespace service::api {

namespace {

constexpr int64_t kSampleMs = 3'000;
constexpr int64_t kStartMs = 2'000;

uint64_t memory(const runtime::Machine& machine, std::string_view name) {
    const auto found = machine.memory_kb.find(name);
    return found == machine.memory_kb.end() ? 0 : found->second;
}

// Memory used by programs, without caches that the kernel frees on demand.
uint64_t used_kb(const runtime::Machine& machine) {
    const uint64_t total = memory(machine, "MemTotal");
    uint64_t free = memory(machine, "MemAvailable");
    if (free == 0) free = memory(machine, "MemFree") + memory(machine, "Buffers") + memory(machine, "Cached");
    return total > free ? total - free : 0;
}

double share(uint64_t part, uint64_t of) { return of ? static_cast<double>(part) / static_cast<double>(of) : 0; }

double swap_share(const runtime::Machine& machine) {
    const uint64_t total = memory(machine, "SwapTotal");
    return share(total - std::min(total, memory(machine, "SwapFree")), total);
}

uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

std::string command_line() {
    std::string out = runtime::read_small_file("/proc/self/cmdline");
    while (out.ends_with('\0')) out.pop_back();
    std::ranges::replace(out, '\0', ' ');
    return out;
}

// Seconds since the process started.
int64_t process_uptime_s(const runtime::Machine& machine) {
    const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    const double since = machine.uptime_s - static_cast<double>(machine.process.at("starttime")) / ticks;
    return since > 0 ? static_cast<int64_t>(since + static_cast<double>(base::wall_ms() - machine.at_ms) / 1000) : 0;
}

}  // namespace

void System::sample() {
    auto sampled = std::make_shared<runtime::Machine>();
    // A late result is as useless as none: the next read comes soon.
    if (!runtime::offload([sampled] { *sampled = runtime::read_machine(); }, runtime::Deadline::in_ms(kStartMs)))
        return;
    before_ = std::move(now_);
    now_ = std::move(*sampled);
}

void System::start() {
    command_line_ = command_line();
    working_directory_ = runtime::working_directory();
    sample();  // the first figures must exist before the first request or heartbeat
    task_ = runtime::spawn("api-system", [this] {
        while (runtime::sleep_ms(kSampleMs)) sample();
    });
}

void System::stop() {
    if (task_) task_.cancel_and_join();
    task_ = {};
}

std::vector<Endpoint> System::endpoints() {
    Endpoints<System> rows(*this);
    rows.get(
        "/api/v1/summaries", "a summary of this server and its machine",
        "data{ok:bool now_ms:int self{version:str pid:int ppid:int argv:str cwd:str mem_kbyte:int mem_percent:num "
        "cpu_percent:num srs_uptime:int} system{cpu_percent:num disk_read_KBps:int disk_write_KBps:int "
        "disk_busy_percent:num mem_ram_kbyte:int mem_ram_percent:num mem_swap_kbyte:int mem_swap_percent:num cpus:int "
        "cpus_online:int uptime:num ilde_time:num load_1m:num load_5m:num load_15m:num net_sample_time:int "
        "net_recv_bytes:int net_send_bytes:int net_recvi_bytes:int net_sendi_bytes:int srs_sample_time:int "
        "srs_recv_bytes:int srs_send_bytes:int conn_sys:int conn_sys_et:int conn_sys_tw:int conn_sys_udp:int "
        "conn_srs:int} " +
            std::string(kEarlierShape) + "}",
        &System::send<&System::summaries>);
    rows.get(
        "/api/v1/rusages", "the resource usage of the process (getrusage)",
        "data{ok:bool sample_time:int ru_utime:int ru_stime:int ru_maxrss:int ru_ixrss:int ru_idrss:int ru_isrss:int "
        "ru_minflt:int ru_majflt:int ru_nswap:int ru_inblock:int ru_oublock:int ru_msgsnd:int ru_msgrcv:int "
        "ru_nsignals:int ru_nvcsw:int ru_nivcsw:int}",
        &System::send<&System::rusages>);
    std::string fields = "data{ok:bool sample_time:int percent:num pid:int comm:str state:str";
    for (std::string_view name : runtime::ProcessStat::names()) fields.append(" ").append(name).append(":int");
    rows.get("/api/v1/self_proc_stats", "the kernel's figures of the process (/proc/self/stat)", fields + "}",
             &System::send<&System::self_proc_stats>);
    rows.get(
        "/api/v1/system_proc_stats", "the machine's processor time (/proc/stat)",
        "data{ok:bool sample_time:int percent:num user:int nice:int sys:int idle:int iowait:int irq:int softirq:int "
        "steal:int guest:int}",
        &System::send<&System::system_proc_stats>);
    rows.get("/api/v1/meminfos", "the machine's memory (/proc/meminfo), kB",
             "data{ok:bool sample_time:int percent_ram:num percent_swap:num MemActive:int RealInUse:int NotInUse:int "
             "MemTotal:int MemFree:int Buffers:int Cached:int SwapTotal:int SwapFree:int}",
             &System::send<&System::meminfos>);
    return rows.take();
}

// Percent of one processor since the previous read, or since the start of the process if there was none.
double System::process_percent() const {
    const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    auto seconds = [&](const runtime::Machine& machine) {
        return static_cast<double>(machine.process.at("utime") + machine.process.at("stime")) / ticks;
    };
    if (before_.at_ms == 0) {
        const int64_t lived = process_uptime_s(now_);
        return lived > 0 ? seconds(now_) / static_cast<double>(lived) : 0;
    }
    const double passed = static_cast<double>(now_.at_ms - before_.at_ms) / 1000;
    return passed > 0 ? std::max(0.0, (seconds(now_) - seconds(before_)) / passed) : 0;
}

double System::machine_percent() const {
    return share(minus(now_.cpu.busy(), before_.cpu.busy()), minus(now_.cpu.total(), before_.cpu.total()));
}

System::Usage System::usage() const {
    return {.cpu = machine_percent(),
            .processors = now_.cpus_online,
            .memory_bytes = memory(now_, "MemTotal") * 1024,
            .memory_used_bytes = used_kb(now_) * 1024,
            .load_1m = now_.load[0],
            .process_bytes = now_.resident_kb * 1024};
}

Json System::summaries() const {
    return {{"ok", now_.at_ms > 0},
            {"now_ms", base::wall_ms()},
            {"self", self_json()},
            {"system", system_json()},
            {"earlier_process", earlier_process_json(context_.offers)}};
}

Json System::self_json() const {
    return {{"version", context_.identity.interface_version},
            {"server_version", context_.identity.version},
            {"pid", getpid()},
            {"ppid", getppid()},
            {"argv", command_line_},
            {"cwd", working_directory_},
            {"mem_kbyte", now_.resident_kb},
            {"mem_percent", share(now_.resident_kb, memory(now_, "MemTotal"))},
            {"cpu_percent", process_percent()},
            {"srs_uptime", process_uptime_s(now_)}};
}

Json System::system_json() const {
    const int64_t ms = before_.at_ms ? std::max<int64_t>(1, now_.at_ms - before_.at_ms) : 0;
    auto kbyte_per_second = [&](uint64_t sectors) {
        return ms ? sectors * 512 / 1024 * 1000 / static_cast<uint64_t>(ms) : 0;
    };
    const runtime::DiskCounters &disk = now_.disk, &old = before_.disk;
    const double busy =
        ms && disk.disks ? share(minus(disk.busy_ms, old.busy_ms), static_cast<uint64_t>(ms) * disk.disks) : 0;
    const runtime::SocketCounts& sockets = now_.sockets;
    net::Traffic traffic = context_.sessions.traffic();
    if (const OtherProcess* other = context_.offers.other_process) traffic += other->earlier_traffic();
    return {{"cpu_percent", machine_percent()},
            {"disk_read_KBps", ms ? kbyte_per_second(minus(disk.sectors_read, old.sectors_read)) : 0},
            {"disk_write_KBps", ms ? kbyte_per_second(minus(disk.sectors_written, old.sectors_written)) : 0},
            {"disk_busy_percent", std::min(1.0, busy)},
            {"mem_ram_kbyte", memory(now_, "MemTotal")},
            {"mem_ram_percent", share(used_kb(now_), memory(now_, "MemTotal"))},
            {"mem_swap_kbyte", memory(now_, "SwapTotal")},
            {"mem_swap_percent", swap_share(now_)},
            {"cpus", now_.cpus},
            {"cpus_online", now_.cpus_online},
            {"uptime", now_.uptime_s},
            {"ilde_time", now_.idle_s},
            {"load_1m", now_.load[0]},
            {"load_5m", now_.load[1]},
            {"load_15m", now_.load[2]},
            {"net_sample_time", now_.at_ms},
            {"net_recv_bytes", now_.network.received_bytes},
            {"net_send_bytes", now_.network.sent_bytes},
            {"net_recvi_bytes", now_.network.local_received_bytes},
            {"net_sendi_bytes", now_.network.local_sent_bytes},
            {"srs_sample_time", base::wall_ms()},
            {"srs_recv_bytes", traffic.received_bytes},
            {"srs_send_bytes", traffic.sent_bytes},
            {"conn_sys", sockets.tcp + sockets.time_wait + sockets.udp},
            {"conn_sys_et", sockets.established},
            {"conn_sys_tw", sockets.time_wait},
            {"conn_sys_udp", sockets.udp},
            {"conn_srs", context_.sessions.size() + context_.sessions.admission().elsewhere()}};
}

Json System::rusages() const {
    rusage usage{};
    const bool ok = getrusage(RUSAGE_SELF, &usage) == 0;
    auto ms = [](const timeval& time) { return time.tv_sec * 1000 + time.tv_usec / 1000; };
    return {{"ok", ok},
            {"sample_time", base::wall_ms()},
            {"ru_utime", ms(usage.ru_utime)},
            {"ru_stime", ms(usage.ru_stime)},
            {"ru_maxrss", usage.ru_maxrss},
            {"ru_ixrss", usage.ru_ixrss},
            {"ru_idrss", usage.ru_idrss},
            {"ru_isrss", usage.ru_isrss},
            {"ru_minflt", usage.ru_minflt},
            {"ru_majflt", usage.ru_majflt},
            {"ru_nswap", usage.ru_nswap},
            {"ru_inblock", usage.ru_inblock},
            {"ru_oublock", usage.ru_oublock},
            {"ru_msgsnd", usage.ru_msgsnd},
            {"ru_msgrcv", usage.ru_msgrcv},
            {"ru_nsignals", usage.ru_nsignals},
            {"ru_nvcsw", usage.ru_nvcsw},
            {"ru_nivcsw", usage.ru_nivcsw}};
}

Json System::self_proc_stats() const {
    Json data = {{"ok", !now_.process.numbers.empty()}, {"sample_time", now_.at_ms},
                 {"percent", process_percent()},        {"pid", getpid()},
                 {"comm", now_.process.comm},           {"state", std::string(1, now_.process.state)}};
    for (std::string_view name : runtime::ProcessStat::names()) data[std::string(name)] = now_.process.at(name);
    return data;
}

Json System::system_proc_stats() const {
    const runtime::CpuTimes& cpu = now_.cpu;
    return {{"ok", cpu.total() > 0},  {"sample_time", now_.at_ms}, {"percent", machine_percent()},
            {"user", cpu.user},       {"nice", cpu.nice},          {"sys", cpu.system},
            {"idle", cpu.idle},       {"iowait", cpu.iowait},      {"irq", cpu.irq},
            {"softirq", cpu.softirq}, {"steal", cpu.steal},        {"guest", cpu.guest}};
}

Json System::meminfos() const {
    auto kb = [&](const char* name) { return memory(now_, name); };
    const uint64_t used = used_kb(now_);
    return {{"ok", !now_.memory_kb.empty()},
            {"sample_time", now_.at_ms},
            {"percent_ram", share(used, kb("MemTotal"))},
            {"percent_swap", swap_share(now_)},
            {"MemActive", minus(kb("MemTotal"), kb("MemFree"))},
            {"RealInUse", used},
            {"NotInUse", minus(kb("MemTotal"), used)},
            {"MemTotal", kb("MemTotal")},
            {"MemFree", kb("MemFree")},
            {"Buffers", kb("Buffers")},
            {"Cached", kb("Cached")},
            {"SwapTotal", kb("SwapTotal")},
            {"SwapFree", kb("SwapFree")}};
}

}  // namespace service::api
