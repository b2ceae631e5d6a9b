// bench: this project's load tool. What it can do is in load/commands.h; how to use it in doc/performance.md.

#include <sys/resource.h>

#include "base/log.h"
#include "bench/command_line.h"
#include "load/run.h"
#include "runtime/loop/coroutine.h"

namespace {

void raise_open_file_limit() {
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

struct Execute {
    int operator()(int code) const { return code; }
    int operator()(const load::PlayOptions& options) const { return load::play(options); }
    int operator()(const load::PublishOptions& options) const { return load::publish(options); }
    int operator()(const load::LatencyOptions& options) const { return load::latency(options); }
    int operator()(const load::ChurnOptions& options) const { return load::churn(options); }
    int operator()(const load::HlsOptions& options) const { return load::hls(options); }
    int operator()(const load::LowLatencyHlsOptions& options) const { return load::low_latency_hls(options); }
    int operator()(const load::srt::SrtPlayOptions& options) const { return load::srt::srt_play(options); }
    int operator()(const load::srt::SrtPublishOptions& options) const { return load::srt::srt_publish(options); }
    int operator()(const load::rtc::WhepOptions& options) const { return load::rtc::whep(options); }
    int operator()(const load::rtc::WhipOptions& options) const { return load::rtc::whip(options); }
    int operator()(const load::rtc::RtcChurnOptions& options) const { return load::rtc::rtc_churn(options); }
};

}  // namespace

int main(int argc, char** argv) {
    auto command = bench::parse_command_line(argc, argv);
    if (const int* code = std::get_if<int>(&command)) return *code;
    raise_open_file_limit();
    if (auto started = runtime::init(); !started) return load::cannot_begin(started.error());
    int code = std::visit(Execute(), command);
    runtime::shutdown();
    return code;
}
