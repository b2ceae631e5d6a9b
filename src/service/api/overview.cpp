#include "service/api/overview.h"

#include <map>

#include "base/clock.h"
#include "base/json.h"
#include "net/access/auth.h"
#include "runtime/diagnose/machine.h"
#include "runtime/diagnose/watchdog.h"
#include "service/api/diagnosis/verdicts.h"
#include "service/api/earlier/earlier.h"
#include "service/api/earlier/upgrade_endpoint.h"
#include "service/api/lists/statistics.h"
#include "service/api/lists/stream_keys.h"
#include "service/api/system.h"

namespace service::api {

std::string_view protocol_of(net::SessionType type) {
    const std::string_view name = net::session_type_name(type);
    if (name.ends_with("-forward")) return "forward";
    const std::string_view protocol = name.substr(0, name.find('-'));
    if (protocol == "fmle" || protocol == "flash" || protocol == "haivision") return "rtmp";
    return protocol == "rtc" ? "webrtc" : protocol;
}

Overview::Overview(const Context& context, Earlier& earlier, const Statistics& statistics, const System& system,
                   Verdicts& verdicts)
    : context_(context),
      earlier_(earlier),
      statistics_(statistics),
      system_(system),
      verdicts_(verdicts),
      began_ms_(base::monotonic_ms()),
      cpu_us_(runtime::process_cpu_us()),
      cpu_at_us_(base::monotonic_us()) {}

std::vector<Endpoint> Overview::endpoints() {
    Endpoints<Overview> rows(*this);
    rows.get("/api/v1/overview", "the figures of the whole server for a console's first page, at most a second old",
             "overview{now_ms:int uptime_ms:int version:str process{cpu_percent:num memory_bytes:int} "
             "machine{cpu_percent:num processors:int memory_bytes:int memory_used_bytes:int load_1m:num} "
             "traffic{recv_bytes:int send_bytes:int} connections{now:int limit:int} streams{total:int published:int} "
             "verdicts{fine:int notice:int sick:int} "
             "publishers:any players:any " +
                 std::string(kEarlierShape) +
                 " longest_stall_ms:int senders:any ends:any client_ends:any access{reads:bool changes:bool "
                 "debug:bool}}",
             &Overview::answer);
    return rows.take();
}

base::Result<void> Overview::answer(Request& request, Response& response) {
    const auto figures = TRY(figures_.get([this] { return make(); }));
    const config::SnapshotPtr snapshot = context_.snapshot;
    const bool changes = net::evaluate(Access::kPrivileged, request, snapshot->http_api).status == 0;
    Json overview = *figures;
    overview["access"] = {{"reads", true}, {"changes", changes}, {"debug", changes && snapshot->http_api.debug}};
    return send_fields(response, context_.identity, {{"overview", std::move(overview)}});
}

base::Result<Json> Overview::make() {
    const auto verdicts = TRY(verdicts_.all());
    TRY(context_.sessions.count());  // now_ms below is the time of this count: rates are made of both
    const net::Admission& admission = context_.sessions.admission();
    Json figures = {{"now_ms", base::wall_ms()},
                    {"uptime_ms", base::monotonic_ms() - began_ms_},
                    {"version", context_.identity.version}};
    add_machine(figures);
    figures["traffic"] = {{"recv_bytes", context_.sessions.traffic().received_bytes},
                          {"send_bytes", context_.sessions.traffic().sent_bytes}};
    figures["connections"] = {{"now", admission.connections()}, {"limit", admission.options().max_connections}};
    add_clients(figures);
    for (size_t i = 0; i < std::size(kVerdictLevels); ++i)
        figures["verdicts"][std::string(kVerdictLevels[i])] = verdicts->counts[i];
    add_senders(figures);
    figures["longest_stall_ms"] = runtime::loop_stats().minute.longest_ms(base::monotonic_ms());
    add_ends(figures);
    TRY(add_earlier(figures));
    ++made_;
    return figures;
}

void Overview::add_ends(Json& figures) const {
    Json ends = Json::object(), clients = Json::object();
    const net::ClosedSessions& closed = context_.sessions.closed();
    for (size_t i = 0; i < base::kCloseReasons; ++i) {
        const auto reason = static_cast<base::CloseReason>(i);
        const std::string name(base::close_reason_name(reason));
        if (const uint64_t count = closed.count_of(reason)) ends[name] = count;
        if (const uint64_t count = closed.clients_of(reason)) clients[name] = count;
    }
    figures["ends"] = std::move(ends);
    figures["client_ends"] = std::move(clients);
}

// What the process that this one has replaced has. A stream that both have is one.
base::Result<void> Overview::add_earlier(Json& figures) const {
    const net::Traffic before =
        context_.offers.other_process ? context_.offers.other_process->earlier_traffic() : net::Traffic();
    add_numbers(figures["traffic"], {{"recv_bytes", before.received_bytes}, {"send_bytes", before.sent_bytes}});
    figures["earlier_process"] = earlier_process_json(context_.offers);
    if (!earlier_.is_there()) return {};
    const Json theirs = TRY(earlier_.object("/api/v1/overview", "overview"));
    if (!theirs.is_object()) return {};
    for (const char* name : {"publishers", "players", "ends", "client_ends"})
        if (const auto found = theirs.find(name); found != theirs.end()) add_numbers(figures[name], *found);
    add_numbers(figures["connections"], {{"now", context_.sessions.admission().elsewhere()}});
    const auto streams = TRY(earlier_.streams());
    for (const auto& [key, stream] : *streams) {
        const auto here = context_.registry.find(key);
        const bool is_here = (here && is_there(*here)) || context_.sessions.accounts().find(key);
        const std::string_view level = kVerdictLevels[static_cast<size_t>(stream.level)];
        if (!is_here) add_numbers(figures["verdicts"], {{std::string(level), 1u}});
        add_numbers(figures["streams"], {{"total", is_here ? 0u : 1u}, {"published", stream.is_published ? 1u : 0u}});
    }
    return {};
}

void Overview::add_machine(Json& figures) {
    const int64_t now_us = base::monotonic_us(), cpu_us = runtime::process_cpu_us();
    const auto passed_us = static_cast<double>(std::max<int64_t>(1, now_us - cpu_at_us_));
    const System::Usage usage = system_.usage();
    figures["process"] = {{"cpu_percent", static_cast<double>(cpu_us - cpu_us_) / passed_us},
                          {"memory_bytes", usage.process_bytes}};
    cpu_us_ = cpu_us;
    cpu_at_us_ = now_us;
    figures["machine"] = {{"cpu_percent", usage.cpu},
                          {"processors", usage.processors},
                          {"memory_bytes", usage.memory_bytes},
                          {"memory_used_bytes", usage.memory_used_bytes},
                          {"load_1m", usage.load_1m}};
}

// Of each sender thread.
void Overview::add_senders(Json& figures) {
    Json& list = figures["senders"] = Json::array();
    if (!runtime::senders()) return;
    const std::vector<runtime::SenderThreadStats> now = runtime::senders()->stats().threads;
    const int64_t now_us = base::monotonic_us();
    senders_.resize(now.size());
    for (size_t i = 0; i < now.size(); ++i) {
        const auto busy_us = static_cast<double>(now[i].busy_us - senders_[i].busy_us);
        const double passed_us = static_cast<double>(std::max<int64_t>(1, now_us - senders_at_us_));
        list.push_back({{"cpu_percent", senders_at_us_ == 0 ? 0.0 : busy_us / passed_us},
                        {"calls", now[i].entries},
                        {"datagrams", now[i].sent},
                        {"awaited", now[i].awaited}});
    }
    senders_ = now;
    senders_at_us_ = now_us;
}

void Overview::add_clients(Json& figures) const {
    const Statistics::StreamCounts streams = statistics_.count_streams();
    figures["streams"] = {{"total", streams.total}, {"published", streams.published}};
    std::map<std::string, uint64_t> publishers, players;
    for (size_t i = 0; i < net::SessionType::count(); ++i) {
        const auto type = net::SessionType::at(i);
        const size_t count = context_.sessions.in_streams(type);
        if (count > 0 && net::is_client(type))
            (net::publishes(type) ? publishers : players)[std::string(protocol_of(type))] += count;
    }
    figures["publishers"] = publishers;
    figures["players"] = players;
}

}  // namespace service::api
