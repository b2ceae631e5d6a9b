// bench whip: N publishers of the same file by WebRTC, in real time.

#include "load/rtc/commands.h"
#include "load/rtc/publisher.h"
#include "load/rtc/session_room.h"
#include "load/run.h"

namespace load::rtc {

namespace {

constexpr int64_t kTurnMs = 5;

base::Result<int> run_whip(const WhipOptions& options) {
    auto packets = TRY(Packets::from_flv(options.flv_file));
    load::Run run(options);
    SessionRoom room = TRY(SessionRoom::make(options.count));
    std::vector<std::unique_ptr<Publisher>> publishers;
    for (uint32_t i = 0; i < options.count; ++i) {
        publishers.push_back(
            std::make_unique<Publisher>(load::number_url(options.url, i), packets, room.shared(run.ledger())));
    }
    TRY(run.begin());
    auto sending = runtime::spawn("sender", [&publishers] {
        while (runtime::sleep_ms(kTurnMs)) {
            int64_t now = base::monotonic_us();
            for (auto& publisher : publishers) publisher->send_due(now);
        }
    });
    run.open_each(options.count,
                  [&publishers](uint32_t i, runtime::Deadline deadline) { (void)publishers[i]->open(deadline); });
    run.sleep(options.settle_ms);
    run.begin_window();
    run.sleep(options.seconds * 1000);
    run.end_window();
    sending.cancel_and_join();
    load::Report report;
    report.add("command", "whip");
    report.add("url", options.url);
    report.add("kbps", packets.kbps());
    report.add_ledger(run.ledger(), options.count);
    run.add_window(report, "publisher");
    report.add_times("lateness_ms", run.ledger().lateness_us);
    Publisher::Heard heard;
    for (const auto& publisher : publishers) {
        heard.keyframe_requests += publisher->heard().keyframe_requests;
        heard.nacks += publisher->heard().nacks;
        heard.reports += publisher->heard().reports;
        heard.transport_feedback += publisher->heard().transport_feedback;
    }
    report.add("keyframe_requests", heard.keyframe_requests);
    report.add("packets_asked_again", heard.nacks);
    report.add("reports", heard.reports);
    report.add("transport_feedback", heard.transport_feedback);
    room.leave(publishers);
    return run.finish(report);
}

}  // namespace

int whip(const WhipOptions& options) {
    auto code = run_whip(options);
    return code ? *code : load::cannot_begin(code.error());
}

}  // namespace load::rtc
