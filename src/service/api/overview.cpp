#include "service/api/overview.h"

#include <sys/resource.h>

#include <map>

#include "base/clock.h"
#include "base/json.h"
#include "net/access/auth.h"
#include "runtime/diagnose/watchdog.h"
#include "service/api/statistics.h"
#include "service/api/system.h"

namespace service::api {

namespace {

// How long a caller waits for the figures that another one has made.
constexpr int64_t kOverviewWaitMs = 5'000;

int64_t process_cpu_us() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto us = [](const timeval& time) { return time.tv_sec * 1'000'000LL + time.tv_usec; };
    return us(used.ru_utime) + us(used.ru_stime);
}

// Names are literals of this program.
void put_counts(JsonText& out, std::string_view name, const std::map<std::string_view, uint64_t>& counts) {
    out.open(name);
    for (const auto& [what, count] : counts) out.field(what, count);
    out.close();
}

}  // namespace

std::string_view protocol_of(net::SessionType type) {
    const std::string_view name = net::session_type_name(type);
    if (name.ends_with("-forward")) return "forward";
    const std::string_view protocol = name.substr(0, name.find('-'));
    if (protocol == "fmle" || protocol == "flash" || protocol == "haivision") return "rtmp";
    return protocol == "rtc" ? "webrtc" : protocol;
}

Overview::Overview(const Identity& identity, CurrentSnapshot snapshot, net::SessionTable& sessions,
                   const Statistics& statistics, const System& system)
    : identity_(identity),
      snapshot_(std::move(snapshot)),
      sessions_(sessions),
      statistics_(statistics),
      system_(system),
      began_ms_(base::monotonic_ms()),
      cpu_us_(process_cpu_us()),
      cpu_at_us_(base::monotonic_us()) {}

std::vector<Endpoint> Overview::endpoints() {
    Endpoint row;
    row.methods = {http::Method::kGet};
    row.pattern = "/api/v1/overview";
    row.summary = "the figures of the whole server for a console's first page, at most a second old";
    row.shape =
        "overview{now_ms:int uptime_ms:int version:str process{cpu_percent:num memory_bytes:int} "
        "machine{cpu_percent:num processors:int memory_bytes:int memory_used_bytes:int load_1m:num} "
        "traffic{recv_bytes:int send_bytes:int} connections{now:int limit:int} streams{total:int published:int} "
        "publishers:any players:any longest_stall_ms:int ends:any access{reads:bool changes:bool debug:bool}}";
    row.handler = [this](net::HttpRequest& request, net::HttpResponse& response) { return answer(request, response); };
    return {std::move(row)};
}

base::Result<void> Overview::answer(net::HttpRequest& request, net::HttpResponse& response) {
    TRY(renew());
    std::string text = *text_;
    JsonText out(text);
    const config::SnapshotPtr snapshot = snapshot_();
    const bool changes = net::judge(Access::kPrivileged, request, snapshot->http_api).status == 0;
    out.open("access");
    out.field("reads", true);
    out.field("changes", changes);
    out.field("debug", changes && snapshot->http_api.debug);
    out.close();
    return response.send(200, "application/json", text + "}}");
}

base::Result<void> Overview::renew() {
    const runtime::Deadline patience = runtime::Deadline::in_ms(kOverviewWaitMs);
    while (making_) TRY(ready_.wait_next(patience));
    if (text_ && base::monotonic_ms() - made_ms_ < kFreshMs) return {};
    making_ = true;
    auto made = make();
    making_ = false;
    ready_.pulse();
    return made;
}

base::Result<void> Overview::make() {
    TRY(sessions_.count());  // now_ms below is the time of this count: rates are made of both
    auto text = std::make_shared<std::string>(base::to_text(envelope(identity_)));
    text->pop_back();
    JsonText out(*text);
    out.open("overview");
    out.field("now_ms", base::wall_ms());
    out.field("uptime_ms", base::monotonic_ms() - began_ms_);
    out.field("version", identity_.version);
    put_machine(out);
    out.open("traffic");
    out.field("recv_bytes", sessions_.traffic().received_bytes);
    out.field("send_bytes", sessions_.traffic().sent_bytes);
    out.close();
    const net::Admission& admission = sessions_.admission();
    out.open("connections");
    out.field("now", admission.connections());
    out.field("limit", admission.options().max_connections);
    out.close();
    put_clients(out);
    out.field("longest_stall_ms", runtime::loop_stats().minute.longest_ms(base::monotonic_ms()));
    put_ends(out);
    text_ = std::move(text);
    made_ms_ = base::monotonic_ms();
    ++made_;
    return {};
}

void Overview::put_machine(JsonText& out) {
    const int64_t now_us = base::monotonic_us(), cpu_us = process_cpu_us();
    const auto passed_us = static_cast<double>(std::max<int64_t>(1, now_us - cpu_at_us_));
    const System::Usage usage = system_.usage();
    out.open("process");
    out.field("cpu_percent", static_cast<double>(cpu_us - cpu_us_) / passed_us);
    out.field("memory_bytes", usage.process_bytes);
    out.close();
    cpu_us_ = cpu_us;
    cpu_at_us_ = now_us;
    out.open("machine");
    out.field("cpu_percent", usage.cpu);
    out.field("processors", usage.processors);
    out.field("memory_bytes", usage.memory_bytes);
    out.field("memory_used_bytes", usage.memory_used_bytes);
    out.field("load_1m", usage.load_1m);
    out.close();
}

void Overview::put_clients(JsonText& out) const {
    const Statistics::StreamCounts streams = statistics_.count_streams();
    out.open("streams");
    out.field("total", streams.total);
    out.field("published", streams.published);
    out.close();
    std::map<std::string_view, uint64_t> publishers, players;
    for (size_t i = 0; i < net::SessionType::count(); ++i) {
        const auto type = net::SessionType::at(i);
        const size_t count = sessions_.in_streams(type);
        if (count > 0 && net::is_client(type))
            (net::publishes(type) ? publishers : players)[protocol_of(type)] += count;
    }
    put_counts(out, "publishers", publishers);
    put_counts(out, "players", players);
}

void Overview::put_ends(JsonText& out) const {
    out.open("ends");
    for (size_t i = 0; i < base::kCloseReasons; ++i) {
        const auto reason = static_cast<base::CloseReason>(i);
        if (const uint64_t count = sessions_.closed().count_of(reason))
            out.field(base::close_reason_name(reason), count);
    }
    out.close();
}

}  // namespace service::api
