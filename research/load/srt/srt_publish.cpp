// bench srt-publish: N publishers of the same transport stream by SRT, in real time.

#include "load/run.h"
#include "load/script.h"
#include "load/srt/commands.h"
#include "load/srt/publisher.h"

namespace load::srt {

namespace {

base::Result<int> run_publish(const SrtPublishOptions& options) {
    const TsScript script = TRY(TsScript::parse(TRY(load::read_file(options.ts_file))), options.ts_file);
    load::Run run(options);
    std::vector<std::unique_ptr<Publisher>> publishers;
    for (uint32_t i = 0; i < options.count; ++i) {
        const PeerOptions peer{
            .url = number_url(options.url, i), .latency_ms = options.latency_ms, .publish = true, .passphrase = {}};
        publishers.push_back(std::make_unique<Publisher>(peer, script, run.ledger()));
    }
    TRY(run.begin());
    run.open_each(options.count,
                  [&publishers](uint32_t i, runtime::Deadline deadline) { (void)publishers[i]->open(deadline); });
    run.sleep(options.settle_ms);
    run.begin_window();
    run.sleep(options.seconds * 1000);
    run.end_window();
    load::Report report;
    report.add("command", "srt-publish");
    report.add("url", options.url);
    report.add("kbps", static_cast<int>(script.kbps()));
    report.add_ledger(run.ledger(), options.count);
    run.add_window(report, "publisher");
    report.add_times("lateness_ms", run.ledger().lateness_us);
    uint64_t repairs = 0;
    for (const auto& publisher : publishers) repairs += publisher->repairs();
    report.add("packets_asked_again", repairs);
    for (auto& publisher : publishers) publisher->leave();
    return run.finish(report);
}

}  // namespace

int srt_publish(const SrtPublishOptions& options) {
    auto code = run_publish(options);
    return code ? *code : load::cannot_begin(code.error());
}

}  // namespace load::srt
