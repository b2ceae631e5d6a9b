#include "service/edge/report.h"

#include <array>
#include <charconv>

#include "base/json.h"
#include "runtime/loop/clock.h"

namespace service::edge {

using prometheus::Text;
using prometheus::Type;

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kDefaultCount = 100, kMaxCount = 1'000;

template <class State, class List, class Get>
void write_states(Text& text, std::string_view name, std::string_view help, size_t states,
                  std::string_view (*state)(State), const List& list, Get get) {
    std::array<size_t, 8> counts{};
    for (const auto& one : list) ++counts[static_cast<size_t>(get(one).state())];
    text.family(name, Type::kGauge, help);
    for (size_t i = 0; i < states; ++i)
        text.sample({{"state", state(static_cast<State>(i))}}, static_cast<double>(counts[i]));
}

template <class Get>
void write_origins(Text& text, const Origins& origins, std::string_view name, Type type, std::string_view help,
                   Get get) {
    text.family(name, type, help);
    for (const auto& [origin, state] : origins.states())
        text.sample({{"origin", origin}}, static_cast<double>(get(origin, state)));
}

// Nothing: it is no number within the bounds.
std::optional<size_t> number_of(const net::HttpRequest& request, std::string_view name, int64_t initial, int64_t most) {
    const std::string_view text = request.message.parameter(name);
    if (text.empty()) return static_cast<size_t>(initial);
    int64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value < 0 || value > most) return {};
    return static_cast<size_t>(value);
}

Json origins_of(const Origins& origins) {
    Json all = Json::array();
    const int64_t now_ms = runtime::now_ms();
    for (const auto& [origin, state] : origins.states())
        all.push_back({{"origin", origin},
                       {"up", origins.is_up(origin, now_ms)},
                       {"pulls", state.pulls},
                       {"pushes", state.pushes},
                       {"connections", state.connections},
                       {"failures", state.failures},
                       {"problem", state.problem}});
    return all;
}

template <class One>
Json entry(const base::StreamKey& key, const One& one) {
    return {{"vhost", key.vhost},      {"app", key.app},
            {"stream", key.name},      {"state", One::state_name(one.state())},
            {"origin", one.origin()},  {"attempts", one.attempts()},
            {"problem", one.problem()}};
}

base::Result<void> list(const Service& service, const Identity& identity, net::HttpRequest& request,
                        net::HttpResponse& response) {
    Json body = {{"code", 0}, {"server", identity.server}, {"service", identity.service}, {"pid", identity.pid}};
    const auto start = number_of(request, "start", 0, INT32_MAX),
               count = number_of(request, "count", kDefaultCount, kMaxCount);
    if (!start || !count) {
        body["code"] = 400;
        body["error"] = "start and count are numbers";
        return response.send(400, "application/json", base::to_text(body));
    }
    Json pulls = Json::array(), pushes = Json::array();
    size_t index = 0;
    for (const auto& [key, pull] : service.pulls().list()) {
        if (index >= *start && index - *start < *count) pulls.push_back(entry(key, *pull));
        ++index;
    }
    index = 0;
    for (const auto& push : service.pushes().list()) {
        if (index >= *start && index - *start < *count) pushes.push_back(entry(push->stream().key(), *push));
        ++index;
    }
    body["origins"] = origins_of(service.origins());
    body["pulls_total"] = service.pulls().list().size();
    body["pulls"] = std::move(pulls);
    body["pushes_total"] = service.pushes().list().size();
    body["pushes"] = std::move(pushes);
    return response.send(200, "application/json", base::to_text(body));
}

net::ApiParameter number_parameter_of(std::string name, std::string doc, int64_t most, int64_t initial) {
    net::ApiParameter parameter;
    parameter.name = std::move(name);
    parameter.type = net::ApiParameter::Type::kInteger;
    parameter.doc = std::move(doc);
    parameter.least = 0;
    parameter.most = most;
    parameter.initial = initial;
    return parameter;
}

}  // namespace

void write_metrics(const Service& service, Text& text) {
    const Pulls& pulls = service.pulls();
    write_states<Pull::State>(text, "srs_edge_pulls", "Streams that edges pull from origins, by state.", Pull::kStates,
                              Pull::state_name, pulls.list(),
                              [](const auto& one) -> const Pull& { return *one.second; });
    write_states<Push::State>(text, "srs_edge_pushes", "Streams that edges pass up to origins, by state.",
                              Push::kStates, Push::state_name, service.pushes().list(),
                              [](const auto& one) -> const Push& { return *one; });
    text.family(
        "srs_edge_requests_refused_total", Type::kCounter,
        "Players refused at an edge: too many streams are asked for (limit), or the request is this server's own "
        "(loop).");
    text.sample({{"reason", "limit"}}, static_cast<double>(pulls.refused()));
    text.sample({{"reason", "loop"}}, static_cast<double>(pulls.loops()));
    text.family("srs_edge_clients_asked_total", Type::kCounter,
                "Clients about whom an origin was asked (token_traverse), by its answer.");
    const TokenGuard& tokens = service.token_guard();
    text.sample({{"answer", "refused"}}, static_cast<double>(tokens.refused()));
    text.sample({{"answer", "accepted"}}, static_cast<double>(tokens.accepted()));
    const Origins& origins = service.origins();
    using S = Origins::State;
    const int64_t now_ms = runtime::now_ms();
    write_origins(text, origins, "srs_edge_origin_up", Type::kGauge, "Whether an origin worked when it was used last.",
                  [&](const std::string& origin, const S&) { return origins.is_up(origin, now_ms) ? 1 : 0; });
    write_origins(text, origins, "srs_edge_origin_pulls", Type::kGauge, "Streams that come from an origin now.",
                  [](const std::string&, const S& state) { return state.pulls; });
    write_origins(text, origins, "srs_edge_origin_pushes", Type::kGauge, "Streams that are passed up to an origin now.",
                  [](const std::string&, const S& state) { return state.pushes; });
    write_origins(text, origins, "srs_edge_origin_connections_total", Type::kCounter,
                  "Attempts to pull from an origin, or to publish there.",
                  [](const std::string&, const S& state) { return state.connections; });
    write_origins(text, origins, "srs_edge_origin_failures_total", Type::kCounter,
                  "Of these, those that failed, and connections that broke.",
                  [](const std::string&, const S& state) { return state.failures; });
}

net::ApiEndpoint api_row(const Service& service, const Identity& identity) {
    net::ApiEndpoint row;
    row.methods = {http::Method::kGet};
    row.pattern = "/api/v1/edges";
    row.summary = "what edges pull from origins and pass up to them";
    constexpr const char* kEntry = "vhost:str app:str stream:str state:str origin:str attempts:int problem:str";
    row.shape = fmt::format(
        "origins[origin:str up:bool pulls:int pushes:int connections:int failures:int problem:str] pulls_total:int "
        "pulls[{0}] pushes_total:int pushes[{0}]",
        kEntry);
    row.parameters = {number_parameter_of("start", "how many pulls and pushes to skip", INT32_MAX, 0),
                      number_parameter_of("count", "how many of each at most", kMaxCount, kDefaultCount)};
    row.handler = [&service, &identity](net::HttpRequest& request, net::HttpResponse& response) {
        return list(service, identity, request, response);
    };
    return row;
}

}  // namespace service::edge
