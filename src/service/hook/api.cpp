#include "service/hook/api.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "runtime/loop/clock.h"
#include "service/api_answer.h"

namespace service::hook {

namespace {

using Json = base::OrderedJson;

constexpr int64_t kCount = 1'000;  // hosts in an answer

Json host_json(const HostState& host) {
    const Outbox::HostView& reports = host.reports;
    return {{"host", host.name},
            {"up", !host.is_down},
            {"since_ms", host.since_ms},
            {"problem", host.problem},
            {"queries", host.queries},
            {"calls", reports.in_flight},
            {"waiting", reports.waiting},
            {"bytes", reports.bytes},
            {"oldest_ms", reports.oldest_ms},
            {"delivered", reports.delivered},
            {"dropped", reports.dropped}};
}

base::Result<void> list(const Service& service, const ::service::Identity& identity, const net::HttpRequest& request,
                        net::HttpResponse& response) {
    const std::vector<HostState> states = host_states(service);
    const Page page = page_of(request, kCount);
    Json hosts = Json::array();
    for (size_t i = 0; i < states.size(); ++i)
        if (page.has(i)) hosts.push_back(host_json(states[i]));
    Json dropped;
    for (size_t i = 0; i < kDropNames.size(); ++i) dropped[kDropNames[i]] = service.stats().dropped[i];
    const OutboxFile& file = service.file();
    return send_fields(
        response, identity,
        {{"hosts", std::move(hosts)},
         {"total", states.size()},
         {"waiting", service.outbox().waiting()},
         {"bytes", service.outbox().bytes()},
         {"dropped", std::move(dropped)},
         {"not_asked", service.stats().not_asked},
         {"file",
          {{"open", file.is_open()}, {"bytes", file.bytes()}, {"live", file.live()}, {"unsaved", file.lost()}}}});
}

}  // namespace

std::vector<HostState> host_states(const Service& service) {
    std::map<std::string, HostState> states;
    for (Outbox::HostView& view : service.outbox().hosts()) {
        HostState& state = states[view.name];
        state.is_down = view.is_down;
        state.since_ms = view.since_ms;
        if (view.is_down) state.problem = view.last_error;
        state.reports = std::move(view);
    }
    for (const auto& [name, host] : service.caller().hosts()) {
        HostState& state = states[name];
        state.queries = host->permits.inside();
        if (!host->breaker.is_open()) continue;
        const int64_t since_ms = runtime::now_ms() - host->breaker.since_ms();
        state.since_ms = state.is_down ? std::max(state.since_ms, since_ms) : since_ms;
        state.is_down = true;
        state.problem = host->breaker.last_error();
    }
    std::vector<HostState> list;
    for (auto& [name, state] : states) {
        state.name = name;
        list.push_back(std::move(state));
    }
    return list;
}

void Service::visit_outputs(const live::StreamKey* only, const OutputVisit& visit) const {
    using State = StreamOutput::State;
    std::map<std::string, std::string> down;  // hosts, and why
    for (const HostState& host : host_states(*this))
        if (host.is_down) down.emplace(host.name, host.problem);
    const auto visit_one = [&](const live::StreamKey& key) {
        const VhostConfig* hooks = hooks_of(key.vhost);
        if (!hooks) return;
        std::set<std::string> hosts;
        for (size_t i = 0; i < kHookNames.size(); ++i)
            for (const std::string& url : urls_of(static_cast<Hook>(i), *hooks)) hosts.insert(target_of(url));
        for (const std::string& host : hosts) {
            const auto problem = down.find(host);
            if (problem != down.end())
                visit(key, {"hook", host, State::kFails, problem->second});
            else if (only)
                visit(key, {"hook", host});
        }
    };
    if (only) return visit_one(*only);
    if (!down.empty())
        registry_.for_each([&](const live::Stream& stream) {
            if (stream.published()) visit_one(stream.key());
        });
}

net::ApiEndpoint api_row(const Service& service, const ::service::Identity& identity) {
    net::ApiEndpoint row;
    row.pattern = "/api/v1/hooks";
    row.summary = "the servers of http_hooks: whether they answer, and the reports that wait for them";
    row.shape =
        "hosts[host:str up:bool since_ms:int problem:str queries:int calls:int waiting:int bytes:int oldest_ms:int "
        "delivered:int dropped:int] total:int waiting:int bytes:int "
        "dropped{full:int age:int rejected:int removed:int stopped:int} not_asked:int "
        "file{open:bool bytes:int live:int unsaved:int}";
    row.parameters = page_parameters(kCount);
    row.of_both = {.lists = {{.name = "hosts", .key = "host", .total = "total"}},
                   .count = kCount,
                   .sums = {"waiting", "bytes", "queries", "calls", "delivered", "dropped", "not_asked", "full", "age",
                            "rejected", "removed", "stopped"},
                   .objects = {"dropped"}};
    row.handler = [&service, &identity](net::HttpRequest& request, net::HttpResponse& response) {
        return list(service, identity, request, response);
    };
    return row;
}

}  // namespace service::hook
