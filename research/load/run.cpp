#include "load/run.h"

#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>

#include "load/pacing.h"

namespace load {

namespace {
double rounded(double value, int digits = 3) {
    double scale = std::pow(10.0, digits);
    return std::round(value * scale) / scale;
}
}  // namespace

Run::~Run() {
    for (auto& task : tasks_) task.cancel_and_join();
}

base::Result<void> Run::begin() {
    TRY(probe_.check());
    pss_before_kb_ = probe_.pss_kb();
    anonymous_before_kb_ = probe_.anonymous_kb();
    descriptors_before_ = probe_.descriptors();
    begun_us_ = base::monotonic_us();
    signals_ = TRY(runtime::watch_signals({SIGINT, SIGTERM}));
    tasks_.push_back(runtime::spawn("signals", [this] { watch_for_signals(); }));
    if (!options_.quiet) tasks_.push_back(runtime::spawn("progress", [this] { show_progress(); }));
    return {};
}

void Run::watch_for_signals() {
    if (signals_->next(runtime::Deadline::never())) stop_.set();
}

void Run::show_progress() {
    uint64_t bytes = 0;
    int64_t last_us = begun_us_;
    while (runtime::sleep_ms(1000)) {
        int64_t now = base::monotonic_us();
        double mbit = static_cast<double>(ledger_.bytes - bytes) * 8 / static_cast<double>(now - last_us);
        bytes = ledger_.bytes;
        last_us = now;
        fmt::print(stderr, "{:4} s  open {}/{}, opening {}, failed {}, lost {}, {:.1f} Mbit/s\n",
                   (now - begun_us_) / 1'000'000, ledger_.open, options_.count, ledger_.opening, ledger_.failed,
                   ledger_.lost, mbit);
    }
}

void Run::open_all(const std::vector<Connection*>& connections, std::function<void(Connection&)> opened) {
    open_each(static_cast<uint32_t>(connections.size()), [&](uint32_t i, runtime::Deadline deadline) {
        if (connections[i]->open(deadline) && opened) opened(*connections[i]);
    });
}

void Run::open_each(uint32_t count, std::function<void(uint32_t, runtime::Deadline)> open) {
    runtime::WaitGroup group;
    Ramp ramp(base::monotonic_us(), options_.ramp);
    std::vector<runtime::Task> tasks;
    tasks.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
        if (!sleep_until(runtime::Deadline::at_us(ramp.due_us(i)))) break;
        auto body = [&open, i, timeout = options_.timeout_ms, member = group.enter()] {
            open(i, runtime::Deadline::in_ms(timeout));
        };
        tasks.push_back(runtime::spawn("open", std::move(body)));
    }
    while (group.inside() && sleep(20)) {
    }
    for (auto& task : tasks) {
        if (!task.done()) task.cancel_and_join();
    }
}

void Run::begin_window() {
    cpu_start_us_ = probe_.cpu_us();
    main_thread_start_us_ = probe_.main_thread_cpu_us();
    own_cpu_start_us_ = Probe(getpid()).cpu_us();
    window_start_us_ = base::monotonic_us();
    window_bytes_start_ = ledger_.bytes;
}

void Run::end_window() {
    window_end_us_ = base::monotonic_us();
    window_bytes_end_ = ledger_.bytes;
    cpu_end_us_ = probe_.cpu_us();
    main_thread_end_us_ = probe_.main_thread_cpu_us();
    own_cpu_end_us_ = Probe(getpid()).cpu_us();
    pss_after_kb_ = probe_.pss_kb();
    anonymous_kb_ = probe_.anonymous_kb();
    window_open_ = ledger_.open;
}

void Run::add_window(Report& report, const std::string& per) {
    report.add("window_s", rounded(window_seconds()));
    report.add("bytes", window_bytes());
    report.add("bytes_total", ledger_.bytes);  // from the first connection on
    report.add("mbit_per_s", rounded(window_mbit() / window_seconds()));
    report.add("load_cpu_percent",
               rounded(static_cast<double>(own_cpu_end_us_ - own_cpu_start_us_) / window_seconds() / 1e4, 1));
    if (!probe_.active()) return;
    double cpu_ms = static_cast<double>(cpu_end_us_ - cpu_start_us_) / 1000;
    report.add("server_cpu_percent", rounded(cpu_ms / window_seconds() / 10, 2));
    const double main_ms = static_cast<double>(main_thread_end_us_ - main_thread_start_us_) / 1000;
    report.add("server_main_thread_percent", rounded(main_ms / window_seconds() / 10, 2));
    if (window_bytes()) report.add("server_cpu_ms_per_mbit", rounded(cpu_ms / window_mbit(), 4));
    report.add("server_pss_before_kb", pss_before_kb_);
    report.add("server_pss_after_kb", pss_after_kb_);
    report.add("server_pss_growth_kb", pss_after_kb_ - pss_before_kb_);
    report.add("server_anonymous_before_kb", anonymous_before_kb_);
    report.add("server_anonymous_kb", anonymous_kb_);
    report.add("server_descriptors_before", descriptors_before_);
    report.add("server_descriptors_after", probe_.descriptors());
    if (per.empty() || window_open_ == 0) return;
    report.add("server_cpu_ms_per_s_per_" + per, rounded(cpu_ms / window_seconds() / window_open_, 4));
    report.add("server_kb_per_" + per, rounded(static_cast<double>(pss_after_kb_ - pss_before_kb_) / window_open_, 2));
}

int Run::finish(const Report& report) {
    if (auto delivered = report.deliver(options_.json_file); !delivered) return cannot_begin(delivered.error());
    return ledger_.failed || ledger_.lost ? 1 : 0;
}

int cannot_begin(const base::Error& error) {
    fmt::print(stderr, "bench: {}\n", error.text());
    return 2;
}

}  // namespace load
