// bench churn: connections that come and go, to see whether the server's memory and descriptors stay where they were.

#include "load/commands.h"
#include "load/publisher.h"
#include "load/run.h"
#include "load/viewer.h"

namespace load {

namespace {

class Churn {
  public:
    Churn(const ChurnOptions& options, Script& script, Run& run) : options_(options), script_(script), run_(run) {}

    // A coroutine's body: cycles until there are enough.
    void work(uint32_t worker) {
        while (begun_ < options_.cycles && !run_.stopped() && !runtime::cancelled()) {
            uint32_t cycle = begun_++;
            // A publisher's name is its worker's, a viewer's its cycle's.
            auto target = parse_target(number_url(options_.url, options_.publish ? worker : cycle));
            if (!target) return;
            if (options_.publish ? publish_once(std::move(*target)) : play_once(std::move(*target))) {
                ++done_;
            } else {
                // A server that refuses at once is not asked a thousand times a second.
                (void)runtime::sleep_ms(100);
            }
        }
    }
    uint32_t done() const { return done_; }
    const Histogram& cycle_us() const { return cycle_us_; }

  private:
    bool play_once(Target target) {
        Viewer viewer(std::move(target), run_.ledger());
        auto deadline = runtime::Deadline::in_ms(options_.timeout_ms);
        if (!viewer.open(deadline)) return false;
        while (viewer.is_open() && viewer.first_frame_us() < 0 && !deadline.passed()) {
            if (!runtime::sleep_ms(2)) return false;
        }
        cycle_us_.add(base::monotonic_us() - viewer.begun_us());
        return viewer.first_frame_us() >= 0;
    }

    bool publish_once(Target target) {
        Publisher publisher(std::move(target), script_, false, run_.ledger());
        if (!publisher.open(runtime::Deadline::in_ms(options_.timeout_ms))) return false;
        bool sent = publisher.send_now(options_.messages) > 0;
        cycle_us_.add(base::monotonic_us() - publisher.begun_us());
        return sent && publisher.is_open();
    }

    const ChurnOptions& options_;
    Script& script_;
    Run& run_;
    uint32_t begun_ = 0;
    uint32_t done_ = 0;
    Histogram cycle_us_;
};

base::Result<int> run_churn(const ChurnOptions& options) {
    TRY(parse_target(number_url(options.url, 0)));
    Script script = Script::marked(237, 10);
    Run run(options);
    Churn churn(options, script, run);
    TRY(run.begin());
    run.begin_window();
    int64_t begun = base::monotonic_us();
    std::vector<runtime::Task> workers;
    for (uint32_t i = 0; i < options.concurrency; ++i) {
        workers.push_back(runtime::spawn("worker", [&churn, i] { churn.work(i); }));
    }
    for (auto& worker : workers) (void)worker.join(runtime::Deadline::never());
    double seconds = static_cast<double>(base::monotonic_us() - begun) / 1e6;
    run.sleep(options.settle_ms);
    run.end_window();
    Report report;
    report.add("command", "churn");
    report.add("url", options.url);
    report.add("cycles", churn.done());
    report.add("cycles_per_s", static_cast<int>(churn.done() / std::max(seconds, 0.001)));
    report.add_ledger(run.ledger(), options.cycles);
    run.add_window(report, "");
    report.add_times("cycle_ms", churn.cycle_us());
    report.add_times("first_frame_ms", run.ledger().first_frame_us);
    int code = run.finish(report);
    return churn.done() < options.cycles && !run.stopped() ? 1 : code;
}

}  // namespace

int churn(const ChurnOptions& options) {
    auto code = run_churn(options);
    return code ? *code : cannot_begin(code.error());
}

}  // namespace load
