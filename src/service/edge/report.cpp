#include "service/edge/report.h"

#include <array>

#include "base/json.h"
#include "runtime/loop/clock.h"
#include "service/api_answer.h"

namespace service::edge {

using prometheus::Text;
using prometheus::Type;

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kCount = 100;  // of pulls, and of pushes, where no count is asked for

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
void write_origins(Text& text, const OriginHealth& health, std::string_view name, Type type, std::string_view help,
                   Get get) {
    text.family(name, type, help);
    for (const auto& [origin, state] : health.states())
        text.sample({{"origin", origin}}, static_cast<double>(get(origin, state)));
}

Json origins_of(const OriginHealth& health) {
    Json all = Json::array();
    const int64_t now_ms = runtime::now_ms();
    for (const auto& [origin, state] : health.states())
        all.push_back({{"origin", origin},
                       {"up", health.is_up(origin, now_ms)},
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
            {"origin", one.server()},  {"attempts", one.attempts()},
            {"problem", one.problem()}};
}

base::Result<void> list(const Service& service, const Identity& identity, net::HttpRequest& request,
                        net::HttpResponse& response) {
    const Page page = page_of(request, kCount);
    Json body = envelope(identity);
    Json pulls = Json::array(), pushes = Json::array();
    size_t pulled = 0;
    for (const auto& [key, pull] : service.pulls().list()) {
        if (pull->server() == kOtherProcess) continue;  // that is this server
        if (page.has(pulled++)) pulls.push_back(entry(key, *pull));
    }
    size_t index = 0;
    for (const auto& push : service.pushes().list()) {
        if (page.has(index)) pushes.push_back(entry(push->key(), *push));
        ++index;
    }
    body["origins"] = origins_of(service.health());
    body["pulls_total"] = pulled;
    body["pulls"] = std::move(pulls);
    body["pushes_total"] = service.pushes().list().size();
    body["pushes"] = std::move(pushes);
    return send_json(response, body);
}

}  // namespace

void write_metrics(const Service& service, Text& text) {
    const PullManager& pulls = service.pulls();
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
    const OriginHealth& health = service.health();
    using S = OriginHealth::State;
    const int64_t now_ms = runtime::now_ms();
    write_origins(text, health, "srs_edge_origin_up", Type::kGauge, "Whether an origin worked when it was used last.",
                  [&](const std::string& origin, const S&) { return health.is_up(origin, now_ms) ? 1 : 0; });
    write_origins(text, health, "srs_edge_origin_pulls", Type::kGauge, "Streams that come from an origin now.",
                  [](const std::string&, const S& state) { return state.pulls; });
    write_origins(text, health, "srs_edge_origin_pushes", Type::kGauge, "Streams that are passed up to an origin now.",
                  [](const std::string&, const S& state) { return state.pushes; });
    write_origins(text, health, "srs_edge_origin_connections_total", Type::kCounter,
                  "Attempts to pull from an origin, or to publish there.",
                  [](const std::string&, const S& state) { return state.connections; });
    write_origins(text, health, "srs_edge_origin_failures_total", Type::kCounter,
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
    row.parameters = page_parameters(kCount);
    row.of_both = {
        .lists = {{.name = "pulls"}, {.name = "pushes"}, {.name = "origins", .is_paged = false, .key = "origin"}},
        .count = kCount,
        .sums = {"pulls_total", "pushes_total", "pulls", "pushes", "connections", "failures"}};
    row.handler = [&service, &identity](net::HttpRequest& request, net::HttpResponse& response) {
        return list(service, identity, request, response);
    };
    return row;
}

}  // namespace service::edge
