#include "server/modules.h"

#include <ctime>

#include "base/log.h"
#include "live/hub/events.h"
#include "live/hub/registry.h"
#include "net/access/access_guard.h"
#include "net/access/gate.h"
#include "net/access/signed_urls.h"
#include "net/hook_stats.h"
#include "net/http/api_endpoint.h"
#include "net/http/http_client.h"
#include "net/http/http_router.h"
#include "net/operations.h"
#include "net/sessions/session.h"
#include "protocol/http/message.h"
#include "runtime/diagnose/watchdog.h"
#include "runtime/loop/coroutine.h"
#include "server/builds/diagnostics.h"
#include "server/disk_engine.h"
#include "server/machine_memory.h"
#include "server/overload.h"
#include "server/parent_watch.h"
#include "server/privileges.h"
#include "server/udp_report.h"
#include "server/version.h"
#include "service/api/service.h"
#include "service/dvr/service.h"
#include "service/forward/service.h"
#include "service/heartbeat/service.h"
#include "service/hls/service.h"
#include "service/hook/service.h"
#include "service/http_live/service.h"
#include "service/http_server/service.h"
#include "service/metrics/service.h"
#include "service/rtc/service.h"
#include "service/rtmp/service.h"

namespace server {
namespace {

// Objects shared by the services, in order of construction. They outlive the services: each service holds a reference.
struct SharedParts {
    net::SessionTable sessions;
    net::AccessGuard access;
    net::SignedUrls signed_urls;
    net::Gate gate;
    net::FileAccess files{gate};
    net::HookStats hook_stats;
    live::Registry registry;
    live::Events events;
    net::HttpRouter router;
    net::HttpRouter api_router;
    net::HttpClient http_client;
    std::shared_ptr<net::Operations> operations;
    net::ApiTable api_rows;  // of other services; complete before the API starts
};

// A service together with a reference to the shared parts that it uses.
template <class Service, class... Args>
std::shared_ptr<Service> holding(const std::shared_ptr<SharedParts>& parts, Args&&... args) {
    struct Holder {
        Holder(std::shared_ptr<SharedParts> shared, Args&&... rest)
            : parts(std::move(shared)), service(std::forward<Args>(rest)...) {}
        std::shared_ptr<SharedParts> parts;
        Service service;
    };
    auto holder = std::make_shared<Holder>(parts, std::forward<Args>(args)...);
    return std::shared_ptr<Service>(holder, &holder->service);
}

// For services that report to or ask other HTTP servers: posts JSON and returns the answer's body; an error unless its
// status is 200 or 201.
auto post_json(const std::shared_ptr<SharedParts>& parts) {
    return [parts](const std::string& url, const std::string& body,
                   runtime::Deadline deadline) -> base::Result<std::string> {
        net::HttpCall call;
        call.url = url;
        call.headers.add("Content-Type", "application/json");
        call.body = body;
        auto answer = TRY(parts->http_client.call(std::move(call), deadline));
        if (!http::is_ok_or_created(answer.status))
            return base::fail(base::Code::kRefused, fmt::format("the answer's status is {}", answer.status));
        return std::move(answer.body);
    };
}

// The live engine itself as a module.
struct LiveEngine : WithoutClients {
    LiveEngine(std::shared_ptr<SharedParts> shared, config::SnapshotPtr first)
        : parts(std::move(shared)), snapshot(std::move(first)) {}
    std::shared_ptr<SharedParts> parts;
    config::SnapshotPtr snapshot;
    base::Result<void> start() {
        reload(snapshot);
        parts->registry.start();
        return {};
    }
    void stop() { parts->registry.stop(); }
    void reload(const config::SnapshotPtr& next) {
        const auto megabytes = static_cast<size_t>(next->global.total_stream_memory);
        parts->registry.set_memory_limit(megabytes > 0 ? megabytes << 20 : machine_memory() / 2);
    }
};

// Starts the module as root if the server was started as root, to bind ports and read keys: see directive `user`.
Module listening(Module module) {
    module.start = [start = std::move(module.start)] {
        const RootScope root;
        return start();
    };
    return module;
}

// Adds the API's routes before any server that serves them listens. As in SRS, the version is also served on
// http_server's port.
struct ApiRoutes : WithoutClients {
    ApiRoutes(std::shared_ptr<SharedParts> shared, std::shared_ptr<service::api::Service> service,
              config::SnapshotPtr first)
        : parts(std::move(shared)), api(std::move(service)), snapshot(std::move(first)) {}
    std::shared_ptr<SharedParts> parts;
    std::shared_ptr<service::api::Service> api;
    config::SnapshotPtr snapshot;
    base::Result<void> start() {
        if (!snapshot->http_api.enabled) return {};
        api->add_routes();
        for (const net::HttpRoute& route : parts->api_router.routes())
            if (route.pattern == "/api/v1/versions") parts->router.add(route);
        return {};
    }
};

service::api::Build build() {
    // __DATE__ and __TIME__ give "Nov 24 2026 10:00:00".
    tm parts{};
    strptime(__DATE__ " " __TIME__, "%b %d %Y %H:%M:%S", &parts);
    parts.tm_isdst = -1;
    const int64_t seconds = mktime(&parts);
    char date[32];
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &parts);
    return {std::string(kSignature),   std::string(kVersion), std::string(kInterfaceVersion), date, seconds,
            "compiled by " __VERSION__};
}

// The limits per address.
struct Limits : WithoutClients {
    Limits(std::shared_ptr<SharedParts> shared, config::SnapshotPtr first)
        : parts(std::move(shared)), snapshot(std::move(first)) {}
    std::shared_ptr<SharedParts> parts;
    config::SnapshotPtr snapshot;
    base::Result<void> start() {
        reload(snapshot);
        return {};
    }
    void reload(const config::SnapshotPtr& next) {
        constexpr size_t kMb = 1024 * 1024;
        const config::AddressLimits& limits = next->address_limits;
        net::Admission& admission = parts->sessions.admission();
        admission.set_options({static_cast<size_t>(next->global.max_connections),
                               {static_cast<uint32_t>(limits.connections), limits.rate,
                                static_cast<uint32_t>(limits.burst), limits.exempt}});
        // The memory limit also covers what clients send with a request: 16 kB and more each.
        admission.hls_viewers().set_limits({static_cast<size_t>(limits.hls_viewers),
                                            static_cast<size_t>(next->global.max_hls_viewers), 8 * kMb, 128 * kMb,
                                            limits.exempt});
        // The total is limited by rtc_server.max_offers, where the oldest session is replaced.
        admission.rtc_offers().set_limits({static_cast<size_t>(limits.rtc_offers), 0, 0, 0, limits.exempt});
        admission.waiting_players().set_limits({static_cast<size_t>(limits.waiting_players),
                                                static_cast<size_t>(next->global.max_waiting_players), 0, 0,
                                                limits.exempt});
    }
};

// Samples the traffic of each client, stream and vhost once a period, for the rates.
struct TrafficMeter : WithoutClients {
    explicit TrafficMeter(std::shared_ptr<SharedParts> shared) : parts(std::move(shared)) {}
    std::shared_ptr<SharedParts> parts;
    runtime::Task task;
    base::Result<void> start() {
        task = runtime::spawn("traffic", [sessions = &parts->sessions] {
            while (runtime::sleep_ms(net::SessionTable::kPeriodMs) && sessions->begin_period()) {
            }
        });
        return {};
    }
    void stop() {
        if (task) task.cancel_and_join();
    }
};

// Reports what blocks the loop, to the very end: it stops with the loop.
struct LoopWatch : WithoutClients {
    explicit LoopWatch(config::SnapshotPtr first) : snapshot(std::move(first)) {}
    config::SnapshotPtr snapshot;
    base::Result<void> start() { return runtime::watch_stalls(snapshot->global.stall_warn); }
    void reload(const config::SnapshotPtr& next) {
        auto watched = runtime::watch_stalls(next->global.stall_warn);
        if (!watched) base::log::error("stall_warn: {}", watched.error().describe());
    }
};

// tcmalloc, if this build uses it.
struct Allocator : WithoutClients {
    explicit Allocator(config::SnapshotPtr first) : snapshot(std::move(first)) {}
    config::SnapshotPtr snapshot;
    base::Result<void> start() {
        reload(snapshot);
        return {};
    }
    void reload(const config::SnapshotPtr& next) {
        if (!set_release_rate(next->global.tcmalloc_release_rate) && next->where("tcmalloc_release_rate") != "default")
            base::log::warn("tcmalloc_release_rate does nothing: this build has the C library's allocator");
    }
};

// Functions of other services that the API calls. The services end after the API, so plain pointers would be enough;
// shared pointers are held all the same.
service::api::Controls api_controls(const std::shared_ptr<service::dvr::Service>& dvr) {
    service::api::Controls controls;
    controls.start_recording = [dvr](const live::StreamKey& key, const service::api::RecordingAsk& ask) {
        return dvr->start_recording(key, {ask.path, ask.segments, ask.duration_ms, ask.pre_roll});
    };
    controls.stop_recording = [dvr](const live::StreamKey& key) { return dvr->stop_recording(key); };
    controls.is_recording = [dvr](const live::StreamKey& key) { return dvr->is_recording_by_request(key); };
    return controls;
}

}  // namespace

void add_modules(Lifecycle& lifecycle, const config::SnapshotPtr& snapshot,
                 std::shared_ptr<net::Operations> operations) {
    auto shared = std::make_shared<SharedParts>();
    shared->operations = std::move(operations);
    // One line per service, in the order of their start. The HTTP servers start last, when all routes have been added.
    lifecycle.add(module_of("watchdog", std::make_shared<LoopWatch>(snapshot)));
    lifecycle.add(module_of("allocator", std::make_shared<Allocator>(snapshot)));
    lifecycle.add(module_of("parent_watch", std::make_shared<ParentWatch>(snapshot)));
    lifecycle.add(module_of("udp_report", std::make_shared<UdpReport>(snapshot)));
    lifecycle.add(module_of("disk", std::make_shared<DiskEngine>(snapshot)));
    lifecycle.add(module_of("live", std::make_shared<LiveEngine>(shared, snapshot)));
    lifecycle.add(module_of("limits", std::make_shared<Limits>(shared, snapshot)));
    lifecycle.add(module_of("traffic", std::make_shared<TrafficMeter>(shared)));
    lifecycle.add(module_of("overload", holding<OverloadWatch>(shared, snapshot, shared->gate, *shared->operations)));
    // In the order in which they are asked; hooks come last, because they take time.
    shared->gate.add(shared->access);
    shared->gate.add(shared->signed_urls);
    lifecycle.add(module_of(
        "hook", holding<service::hook::Service>(shared, snapshot, shared->gate, shared->events, shared->hook_stats)));
    // Started before the publishers' services, so stopped after them: the files are completed when publishers end.
    auto dvr = holding<service::dvr::Service>(shared, snapshot, shared->registry, shared->events);
    lifecycle.add(module_of("dvr", dvr));
    lifecycle.add(
        module_of("hls", holding<service::hls::Service>(shared, snapshot, shared->sessions, shared->registry,
                                                        shared->events, shared->router, shared->gate, shared->files)));
    // Likewise: data already published is still sent.
    lifecycle.add(module_of("forward", holding<service::forward::Service>(shared, snapshot, shared->sessions,
                                                                          shared->registry, post_json(shared))));
    lifecycle.add(listening(module_of(
        "rtmp", holding<service::rtmp::Service>(shared, snapshot, shared->sessions, shared->registry, shared->gate))));
    lifecycle.add(
        listening(module_of("rtc", holding<service::rtc::Service>(shared, snapshot, shared->sessions, shared->registry,
                                                                  shared->gate, shared->router, shared->api_rows))));
    lifecycle.add(
        module_of("http_live", holding<service::http_live::Service>(shared, snapshot, shared->sessions,
                                                                    shared->registry, shared->router, shared->gate)));
    service::api::Parts parts{shared->sessions, shared->registry,    shared->api_router,
                              shared->api_rows, *shared->operations, api_controls(dvr)};
    auto api = holding<service::api::Service>(shared, snapshot, std::move(parts), build());
    lifecycle.add(module_of("api_routes", std::make_shared<ApiRoutes>(shared, api, snapshot)));
    lifecycle.add(listening(module_of("http_server", holding<service::http_server::Service>(
                                                         shared, snapshot, shared->sessions, shared->router,
                                                         shared->api_router, shared->files, std::string(kSignature)))));
    lifecycle.add(listening(module_of("http_api", api)));
    lifecycle.add(module_of("heartbeat", std::make_shared<service::heartbeat::Service>(
                                             snapshot, post_json(shared), [api] { return api->summaries(); })));
    const service::api::Identity& us = api->identity();
    lifecycle.add(listening(module_of(
        "exporter", holding<service::metrics::Service>(
                        shared, snapshot, shared->sessions, shared->registry, shared->hook_stats, *shared->operations,
                        service::metrics::Identity{us.server, us.service, us.pid, us.version, us.signature,
                                                   us.interface_version, us.date}))));
}

}  // namespace server
