#include "service/cluster/report.h"

#include "base/json.h"
#include "runtime/loop/clock.h"
#include "service/api_answer.h"

namespace service::cluster {

using prometheus::Text;
using prometheus::Type;

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kCount = 100;  // of leases, where no count is asked for

std::string_view state_of(const Leases::Lease& lease, const Leases& leases) {
    if (lease.lost) return "lost";
    if (lease.waiting) return "waiting";
    if (!leases.is_held(lease, runtime::now_ms())) return "unregistered";
    return lease.published ? "held" : "admitted";
}

Json redis_of(const Service& service) {
    const RedisClient& client = service.client();
    return {{"server", client.options().server}, {"state", RedisClient::state_name(client.state())},
            {"problem", client.problem()},       {"calls", client.calls()},
            {"failures", client.failures()},     {"connections", client.connections()}};
}

Json coworkers_of(const Service& service) {
    Json all = Json::array();
    for (const auto& [name, coworker] : service.locations().coworkers())
        all.push_back({{"coworker", name},
                       {"up", coworker.error.empty()},
                       {"asked", coworker.asked},
                       {"failures", coworker.failures},
                       {"problem", coworker.error.text()}});
    return all;
}

base::Result<void> list(const Service& service, const Identity& identity, net::HttpRequest& request,
                        net::HttpResponse& response) {
    const Page page = page_of(request, kCount);
    const Leases& leases = service.leases();
    const Record& self = leases.self();
    Json streams = Json::array();
    size_t index = 0;
    for (const auto& [key, lease] : leases.list()) {
        if (page.has(index))
            streams.push_back({{"vhost", key.vhost},
                               {"app", key.app},
                               {"stream", key.name},
                               {"state", state_of(lease, leases)},
                               {"since", lease.record.since_ms}});
        ++index;
    }
    return send_fields(response, identity,
                       {{"redis", redis_of(service)},
                        {"self", {{"rtmp", self.rtmp}, {"http", self.http}, {"api", self.api}, {"fence", self.fence}}},
                        {"coworkers", coworkers_of(service)},
                        {"known", service.locations().known()},
                        {"leases_total", leases.list().size()},
                        {"leases", std::move(streams)}});
}

void counter(Text& text, std::string_view name, std::string_view label, std::string_view help,
             std::initializer_list<std::pair<std::string_view, uint64_t>> samples) {
    text.family(name, Type::kCounter, help);
    for (const auto& [value, count] : samples) text.sample({{label, std::string(value)}}, static_cast<double>(count));
}

}  // namespace

void write_metrics(const Service& service, Text& text) {
    const RedisClient& client = service.client();
    text.single("srs_cluster_redis_up", Type::kGauge, "Whether the Redis of the cluster answers.",
                client.state() == RedisClient::State::kUp ? 1 : 0);
    text.single("srs_cluster_redis_calls_total", Type::kCounter, "Questions and commands to Redis.",
                static_cast<double>(client.calls()));
    text.single("srs_cluster_redis_failures_total", Type::kCounter, "Of these, those without an answer.",
                static_cast<double>(client.failures()));

    const Leases& leases = service.leases();
    text.family("srs_cluster_leases", Type::kGauge, "Streams that are published here, by the state of their lease.");
    for (const std::string_view state : {"held", "unregistered", "admitted", "waiting", "lost"}) {
        const auto count = std::ranges::count_if(
            leases.list(), [&](const auto& entry) { return state_of(entry.second, leases) == state; });
        text.sample({{"state", std::string(state)}}, static_cast<double>(count));
    }
    const Leases::Counters& l = leases.counters();
    counter(text, "srs_cluster_publishers_total", "outcome",
            "Publishers refused because another server has the stream (refused), ended because it began there earlier "
            "(lost), kept because it began later there (won), admitted while Redis was away (unguarded), and admitted "
            "because the server that had the stream is gone (inherited).",
            {{"refused", l.refused},
             {"lost", l.lost},
             {"won", l.won},
             {"unguarded", l.unguarded},
             {"inherited", l.inherited}});
    const Locations::Counters& c = service.locations().counters();
    counter(text, "srs_cluster_lookups_total", "answer",
            "Look-ups of streams: found, nothing found, answered by the last known while nobody could be asked "
            "(last_known), shared with another one (shared), left out because too many were in progress (left_out).",
            {{"found", c.found},
             {"nothing", c.nothing},
             {"last_known", c.last_known},
             {"shared", c.shared},
             {"left_out", c.left_out}});
    text.single("srs_cluster_redirects_total", Type::kCounter, "Players that were sent to another server.",
                static_cast<double>(service.redirected()));
    text.single("srs_cluster_known_streams", Type::kGauge, "Streams of other servers of which the place is kept.",
                static_cast<double>(service.locations().known()));
    text.family("srs_cluster_coworker_failures_total", Type::kCounter, "Coworkers that did not answer.");
    for (const auto& [name, coworker] : service.locations().coworkers())
        text.sample({{"coworker", name}}, static_cast<double>(coworker.failures));
}

net::ApiEndpoint api_row(const Service& service, const Identity& identity) {
    net::ApiEndpoint row;
    row.pattern = "/api/v1/cluster";
    row.summary = "this server in its cluster: Redis, coworkers, and the leases of its streams";
    row.shape =
        "redis{server:str state:str problem:str calls:int failures:int connections:int} "
        "self{rtmp:str http:str api:str fence:str} "
        "coworkers[coworker:str up:bool asked:int failures:int problem:str] known:int leases_total:int "
        "leases[vhost:str app:str stream:str state:str since:int]";
    row.parameters = page_parameters(kCount);
    row.of_both = {.lists = {{.name = "leases"}, {.name = "coworkers", .is_paged = false, .key = "coworker"}},
                   .count = kCount,
                   .sums = {"leases_total", "asked", "failures"}};
    row.handler = [&service, &identity](net::HttpRequest& request, net::HttpResponse& response) {
        return list(service, identity, request, response);
    };
    return row;
}

}  // namespace service::cluster
