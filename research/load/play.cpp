// bench play: N viewers of a stream, parked; what they got and what it cost the server.

#include "load/commands.h"
#include "load/run.h"
#include "load/viewer.h"

namespace load {

namespace {

void add_viewers(Report& report, const std::vector<std::unique_ptr<Viewer>>& viewers) {
    std::vector<double> bytes;
    Histogram gaps;
    uint32_t without_frame = 0;
    for (const auto& viewer : viewers) {
        if (!viewer->is_open()) continue;
        bytes.push_back(static_cast<double>(viewer->window_bytes()));
        gaps.add(viewer->longest_gap_us());
        if (viewer->first_frame_us() < 0) ++without_frame;
    }
    double median = quantile(bytes, 0.5), least = quantile(bytes, 0);
    report.add("median_viewer_bytes", static_cast<uint64_t>(median));
    report.add("slowest_viewer_bytes", static_cast<uint64_t>(least));
    report.add("slowest_viewer_percent", median > 0 ? static_cast<int>(least * 100 / median) : 0);
    report.add_times("longest_gap_ms", gaps);
    report.add("without_frame", without_frame);
}

// Of all viewers, lost ones too: whether each got every frame, from its first to its last.
bool add_continuity(Report& report, const std::vector<std::unique_ptr<Viewer>>& viewers) {
    uint64_t frames = 0, missing = 0, breaks = 0, foreign = 0;
    uint32_t broken = 0;
    for (const auto& viewer : viewers) {
        const Continuity& c = viewer->continuity();
        frames += c.frames();
        missing += c.missing();
        breaks += c.breaks();
        foreign += c.foreign();
        broken += c.whole() ? 0 : 1;
    }
    report.add("frames_verified", frames);
    report.add("frames_missing", missing);
    report.add("order_breaks", breaks);
    report.add("frames_foreign", foreign);
    report.add("viewers_with_a_break", broken);
    return broken == 0;
}

base::Result<int> run_play(const PlayOptions& options) {
    Run run(options);
    std::unique_ptr<DatagramReceiver> receiver;  // outlives the viewers
    if (options.udp || options.url.starts_with("udp://")) receiver = TRY(DatagramReceiver::start());
    if (options.udp && !options.url.starts_with("rtsp://"))
        return base::fail(base::Code::kConfig, "--udp is for rtsp://");
    if (receiver && options.verify)
        return base::fail(base::Code::kConfig,
                          "--verify is for one connection: by UDP audio and video overtake each other");
    std::vector<std::unique_ptr<Viewer>> viewers;
    std::vector<Connection*> connections;
    const Continuity continuity = options.verify ? Continuity::of(Script::marked(237, kMarkedSeconds)) : Continuity();
    for (uint32_t i = 0; i < options.count; ++i) {
        auto target = TRY(parse_target(number_url(options.url, options.streams ? i % options.streams : i)));
        viewers.push_back(std::make_unique<Viewer>(std::move(target), run.ledger()));
        viewers.back()->verify(continuity);
        if (receiver) viewers.back()->receive_by(*receiver);
        connections.push_back(viewers.back().get());
    }
    TRY(run.begin());
    run.open_all(connections);
    run.sleep(options.settle_ms);
    int64_t now = base::monotonic_us();
    for (auto& viewer : viewers) viewer->begin_window(now);
    run.begin_window();
    run.sleep(options.seconds * 1000);
    run.end_window();
    now = base::monotonic_us();
    for (auto& viewer : viewers) {
        if (viewer->is_open()) viewer->end_window(now);
    }
    Report report;
    report.add("command", "play");
    report.add("url", options.url);
    report.add_ledger(run.ledger(), options.count);
    run.add_window(report, "player");
    add_viewers(report, viewers);
    if (run.ledger().rtp_packets > 0) {
        report.add("packets", run.ledger().rtp_packets);
        report.add("packets_lost", run.ledger().rtp_lost);
    }
    report.add_times("first_frame_ms", run.ledger().first_frame_us);
    const bool whole = !options.verify || add_continuity(report, viewers);
    const int code = run.finish(report);
    return code == 0 && !whole ? 1 : code;
}

}  // namespace

int play(const PlayOptions& options) {
    auto code = run_play(options);
    return code ? *code : cannot_begin(code.error());
}

}  // namespace load
