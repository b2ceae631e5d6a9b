// bench latency: one publisher and N viewers in one process, so that one clock sees both ends. Each frame carries its
// number; a viewer notes when the last byte of it has come.

#include "load/commands.h"
#include "load/publisher.h"
#include "load/run.h"
#include "load/viewer.h"

namespace load {

namespace {

// Frames sent before the window began are not counted: a new viewer gets a whole GOP of the past at once.
class Stopwatch final : public PublisherObserver, public ViewerObserver {
  public:
    explicit Stopwatch(size_t messages) : sent_us_(messages, 0) {}
    void begin_window(int64_t now_us) { window_us_ = now_us; }
    void end_window() { window_us_ = INT64_MAX; }

    void on_publisher_send(uint32_t index, int64_t) override { sent_us_[index] = base::monotonic_us(); }
    void on_viewer_message(Viewer&, const MediaMessage& message, int64_t arrival_us) override {
        int64_t mark = mark_of(message.type, message.head);
        if (mark < 0 || static_cast<size_t>(mark) >= sent_us_.size()) return;
        int64_t sent = sent_us_[static_cast<size_t>(mark)];
        if (sent < window_us_) return;
        (message.is_video() ? video_ : audio_).add(arrival_us - sent);
    }
    const Histogram& video() const { return video_; }
    const Histogram& audio() const { return audio_; }

  private:
    std::vector<int64_t> sent_us_;  // by the message's number
    int64_t window_us_ = INT64_MAX;
    Histogram video_, audio_;
};

// Some servers look at a stream for so long before they let anybody play it.
constexpr int64_t kHeadStartMs = 2500;

base::Result<int> run_latency(const LatencyOptions& options) {
    auto publish_to = TRY(parse_target(options.publish_url.empty() ? options.url : options.publish_url));
    if (publish_to.scheme != Scheme::kRtmp) {
        return base::fail(base::Code::kConfig, "say by --publish rtmp://... where to publish");
    }
    auto ramp_seconds = options.ramp > 0 ? static_cast<uint32_t>(options.count / options.ramp) : 0;
    auto script_seconds = static_cast<uint32_t>(options.seconds + options.settle_ms / 1000) + ramp_seconds + 60;
    Script script = Script::marked(options.kbps, script_seconds);
    Stopwatch stopwatch(script.messages().size());
    Run run(options);
    Ledger publisher_ledger;
    Publisher publisher(std::move(publish_to), script, false, publisher_ledger, &stopwatch);
    std::vector<std::unique_ptr<Viewer>> viewers;
    std::vector<Connection*> connections;
    for (uint32_t i = 0; i < options.count; ++i) {
        auto target = TRY(parse_target(number_url(options.url, i)));
        viewers.push_back(std::make_unique<Viewer>(std::move(target), run.ledger(), &stopwatch));
        connections.push_back(viewers.back().get());
    }
    TRY(run.begin());
    TRY(publisher.open(runtime::Deadline::in_ms(options.timeout_ms)), "the publisher");
    Pacer pacer;
    auto pacing = runtime::spawn("pacer", [&pacer] { pacer.run(); });
    pacer.add(publisher);
    run.sleep(kHeadStartMs);
    run.open_all(connections);
    run.sleep(options.settle_ms);
    run.begin_window();
    stopwatch.begin_window(base::monotonic_us());
    run.sleep(options.seconds * 1000);
    stopwatch.end_window();
    run.end_window();
    pacer.stop();
    pacing.cancel_and_join();
    Report report;
    report.add("command", "latency");
    report.add("url", options.url);
    report.add_ledger(run.ledger(), options.count);
    run.add_window(report, "player");
    report.add_times("video_latency_ms", stopwatch.video());
    report.add_times("audio_latency_ms", stopwatch.audio());
    report.add_times("publisher_lateness_ms", publisher_ledger.lateness_us);
    report.add_times("first_frame_ms", run.ledger().first_frame_us);
    if (publisher_ledger.lost) return base::fail(base::Code::kClosed, publisher_ledger.reasons.begin()->first);
    return run.finish(report);
}

}  // namespace

int latency(const LatencyOptions& options) {
    auto code = run_latency(options);
    return code ? *code : cannot_begin(code.error());
}

}  // namespace load
