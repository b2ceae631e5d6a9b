// bench rtc-churn: WebRTC players that come, get a packet and end in different ways, to see whether the server's memory
// and its list of clients stay where they were.

#include "load/rtc/commands.h"
#include "load/rtc/player.h"
#include "load/rtc/session_room.h"
#include "load/run.h"

namespace load::rtc {

namespace {

enum class End : uint8_t { kDelete, kFarewell, kSilence };

base::Result<std::vector<End>> read_ends(std::string_view text) {
    std::vector<End> ends;
    while (!text.empty()) {
        const size_t comma = text.find(',');
        const std::string_view word = text.substr(0, comma);
        if (word != "delete" && word != "farewell" && word != "silence")
            return base::fail(base::Code::kConfig, fmt::format("--ends: \"{}\" is none", word));
        ends.push_back(word == "delete" ? End::kDelete : word == "farewell" ? End::kFarewell : End::kSilence);
        text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
    }
    if (ends.empty()) return base::fail(base::Code::kConfig, "--ends is empty");
    return ends;
}

class Churn {
  public:
    Churn(const RtcChurnOptions& options, const SessionRoom& room, load::Run& run, std::vector<End> ends)
        : options_(options), room_(room), run_(run), ends_(std::move(ends)) {}

    // A coroutine's body: cycles until there are enough.
    void work() {
        while (begun_ < options_.cycles && !run_.stopped() && !runtime::cancelled()) {
            const uint32_t cycle = begun_++;
            if (play_once(cycle)) {
                ++done_;
            } else {
                (void)runtime::sleep_ms(100);
            }
        }
    }
    uint32_t done() const { return done_; }
    const load::Histogram& cycle_us() const { return cycle_us_; }

  private:
    bool play_once(uint32_t cycle) {
        Player player(load::number_url(options_.url, cycle), false, room_.shared(run_.ledger()));
        auto deadline = runtime::Deadline::in_ms(options_.timeout_ms);
        if (!player.open(deadline)) return false;
        while (player.is_open() && player.meter().first_packet_us() < 0 && !deadline.passed()) {
            if (!runtime::sleep_ms(2)) return false;
        }
        cycle_us_.add(base::monotonic_us() - player.begun_us());
        const bool got = player.meter().first_packet_us() >= 0;
        if (player.is_open()) --run_.ledger().open;
        const End end = ends_[cycle % ends_.size()];
        if (end == End::kDelete) {
            player.leave();
        } else if (end == End::kFarewell) {
            player.say_farewell();
        } else {
            player.fall_silent();
        }
        return got;
    }

    const RtcChurnOptions& options_;
    const SessionRoom& room_;
    load::Run& run_;
    std::vector<End> ends_;
    uint32_t begun_ = 0;
    uint32_t done_ = 0;
    load::Histogram cycle_us_;
};

base::Result<int> run_churn(const RtcChurnOptions& options) {
    auto ends = TRY(read_ends(options.ends));
    load::Run run(options);
    SessionRoom room = TRY(SessionRoom::make(options.concurrency));
    Churn churn(options, room, run, std::move(ends));
    TRY(run.begin());
    run.begin_window();
    const int64_t begun = base::monotonic_us();
    std::vector<runtime::Task> workers;
    for (uint32_t i = 0; i < options.concurrency; ++i)
        workers.push_back(runtime::spawn("worker", [&churn] { churn.work(); }));
    for (auto& worker : workers) (void)worker.join(runtime::Deadline::never());
    const double seconds = static_cast<double>(base::monotonic_us() - begun) / 1e6;
    run.sleep(options.settle_ms);
    run.end_window();
    load::Report report;
    report.add("command", "rtc-churn");
    report.add("url", options.url);
    report.add("cycles", churn.done());
    report.add("cycles_per_second", static_cast<uint64_t>(seconds > 0 ? churn.done() / seconds : 0));
    report.add_ledger(run.ledger(), options.cycles);
    run.add_window(report, "");
    report.add_times("cycle_ms", churn.cycle_us());
    const int code = run.finish(report);
    return churn.done() < options.cycles && !run.stopped() ? 1 : code;
}

}  // namespace

int rtc_churn(const RtcChurnOptions& options) {
    auto code = run_churn(options);
    return code ? *code : load::cannot_begin(code.error());
}

}  // namespace load::rtc
