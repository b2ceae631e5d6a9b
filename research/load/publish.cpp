// bench publish: N publishers of the same file, in real time.

#include <optional>

#include "load/commands.h"
#include "load/publisher.h"
#include "load/run.h"

namespace load {

namespace {

base::Result<Script> make_script(const PublishOptions& options) {
    if (options.flv_file.empty()) return Script::marked(options.kbps, kMarkedSeconds);
    return TRY(Script::from_flv(TRY(read_file(options.flv_file))), options.flv_file);
}

base::Result<int> run_publish(const PublishOptions& options) {
    Script script = TRY(make_script(options));
    std::optional<RtpScript> rtp;
    if (options.url.starts_with("rtsp://")) rtp = TRY(RtpScript::make(script), "as RTP");
    Run run(options);
    std::vector<std::unique_ptr<Publisher>> publishers;
    std::vector<Connection*> connections;
    for (uint32_t i = 0; i < options.count; ++i) {
        auto target = TRY(parse_target(number_url(options.url, i)));
        publishers.push_back(std::make_unique<Publisher>(std::move(target), script, options.loop, run.ledger()));
        publishers.back()->cut_into(options.segment);
        if (rtp) publishers.back()->send_rtp(*rtp);
        connections.push_back(publishers.back().get());
    }
    TRY(run.begin());
    Pacer pacer;
    auto pacing = runtime::spawn("pacer", [&pacer] { pacer.run(); });
    run.open_all(connections, [&pacer](Connection& c) { pacer.add(static_cast<Publisher&>(c)); });
    run.sleep(options.settle_ms);
    run.begin_window();
    auto end = runtime::Deadline::in_ms(options.seconds * 1000);
    while (run.ledger().open > 0 && !end.passed() && run.sleep_until(earlier(end, runtime::Deadline::in_ms(100)))) {
    }
    run.end_window();
    pacer.stop();
    pacing.cancel_and_join();
    Report report;
    report.add("command", "publish");
    report.add("url", options.url);
    report.add("kbps", static_cast<int>(script.kbps()));
    report.add("average_gop_kb", script.average_gop_bytes() / 1000);
    report.add_ledger(run.ledger(), options.count);
    run.add_window(report, "publisher");
    report.add_times("lateness_ms", run.ledger().lateness_us);
    report.add("socket_full", run.ledger().stalled);
    return run.finish(report);
}

}  // namespace

int publish(const PublishOptions& options) {
    auto code = run_publish(options);
    return code ? *code : cannot_begin(code.error());
}

}  // namespace load
