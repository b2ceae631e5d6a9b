#include "server/modules.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/log.h"
#include "config/listeners.h"
#include "net/access/access_guard.h"
#include "net/access/signed_urls.h"
#include "net/admission/tls_pair.h"
#include "runtime/diagnose/watchdog.h"
#include "runtime/loop/coroutine.h"
#include "runtime/senders/senders.h"
#include "runtime/threads/processors.h"
#include "server/builds/diagnostics.h"
#include "server/disk_engine.h"
#include "server/overload.h"
#include "server/process/machine_memory.h"
#include "server/process/open_files.h"
#include "server/process/parent_watch.h"
#include "server/process/privileges.h"
#include "server/reports/stream_report.h"
#include "server/reports/udp_report.h"
#include "server/services.h"
#include "server/version.h"
#include "server/why/service.h"

namespace server {
namespace {

service::Build build() {
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

std::vector<std::string_view> features_of_services() {
    std::vector<std::string_view> features;
    for (const service::Description* one : services())
        features.insert(features.end(), one->features.begin(), one->features.end());
    return features;
}

// The parts that services share, in order of construction. Modules that are added before the services hold them, so
// that they outlive the services.
struct Shared {
    Shared(const config::Snapshot& snapshot, std::shared_ptr<net::Operations> of_server)
        : identity{build(), snapshot.global.server_id, runtime::new_context_id(), std::to_string(getpid())},
          operations(std::move(of_server)) {
        // In the order in which they are asked. A service adds its guards at its start: those may take time.
        gate.add(access);
        gate.add(signed_urls);
    }
    const service::Identity identity;
    const std::vector<std::string_view> features = features_of_services();
    net::SessionTable sessions;
    net::AccessGuard access;
    net::SignedUrls signed_urls;
    net::Gate gate;
    net::FileAccess files{gate};
    live::Registry registry;
    live::Events events;
    net::HttpRouter router;
    net::HttpRouter api_router;
    net::HttpClient http_client;
    std::shared_ptr<net::Operations> operations;
    net::ApiTable api_rows;
    service::Offers offers;
    const service::SharedParts parts{identity, features,   sessions, gate,        files,       registry, events,
                                     router,   api_router, api_rows, http_client, *operations, offers};
};

// Bytes.
size_t total_stream_memory(const config::Snapshot& snapshot) {
    const auto megabytes = static_cast<size_t>(snapshot.global.total_stream_memory);
    return megabytes > 0 ? megabytes << 20 : machine_memory() / 2;
}

// The live engine itself as a module.
struct LiveEngine : WithoutClients {
    LiveEngine(std::shared_ptr<Shared> shared, config::SnapshotPtr first)
        : parts(std::move(shared)), snapshot(std::move(first)) {}
    std::shared_ptr<Shared> parts;
    config::SnapshotPtr snapshot;
    base::Result<void> start() {
        reload(snapshot);
        parts->registry.start();
        return {};
    }
    void stop() { parts->registry.stop(); }
    void reload(const config::SnapshotPtr& next) { parts->registry.set_memory_limit(total_stream_memory(*next)); }
};

// Starts a service that listens as root if the server was started as root, to bind ports and read keys: see directive
// `user`.
Module with_root_for_ports(Module module) {
    const bool listens = std::ranges::any_of(
        config::listeners(), [&](const config::Listener& listener) { return listener.service == module.name; });
    if (!listens) return module;
    module.start = [start = std::move(module.start)] {
        const RootScope root;
        return start();
    };
    return module;
}

// The limits of connections, of what they leave unfinished, and of players that get nothing.
struct Limits : WithoutClients {
    static constexpr int64_t kCheckMs = 1'000;
    // The least limit of all unfinished input: two of the largest messages are accepted in any case.
    static constexpr size_t kLeastInputMemory = 32u << 20;
    static constexpr size_t kInputShare = 4;

    Limits(std::shared_ptr<Shared> shared, config::SnapshotPtr first)
        : parts(std::move(shared)), snapshot(std::move(first)) {}
    std::shared_ptr<Shared> parts;
    config::SnapshotPtr snapshot;
    runtime::Task task;
    base::Result<void> start() {
        reload(snapshot);
        task = runtime::spawn("limits", [sessions = &parts->sessions] {
            while (runtime::sleep_ms(kCheckMs)) {
                sessions->input_memory().check(runtime::now_ms());
                sessions->unserved().check(base::monotonic_ms());
                net::TlsPair::warn_of_ends(base::wall_ms() / 1000);
            }
        });
        return {};
    }
    void stop() {
        if (task) task.cancel_and_join();
    }
    void reload(const config::SnapshotPtr& next) {
        const config::AddressLimits& limits = next->address_limits;
        const int wanted = next->global.max_connections;
        const auto connections = static_cast<size_t>(connections_within(open_file_limit(), wanted).value_or(wanted));
        // One address cannot fill the server.
        const size_t of_address = limits.connections >= 0 ? static_cast<size_t>(limits.connections)
                                                          : std::max<size_t>(1, connections / 4 * 3);
        std::vector<base::IpNetwork> exempt = limits.exempt;
        exempt.insert(exempt.end(), next->global.trusted_proxies.begin(), next->global.trusted_proxies.end());
        net::SessionTable& sessions = parts->sessions;
        sessions.admission().set_options(
            {connections,
             {static_cast<uint32_t>(of_address), limits.rate, static_cast<uint32_t>(limits.burst), exempt}});
        const size_t in_all = std::max(total_stream_memory(*next) / kInputShare, kLeastInputMemory);
        sessions.input_memory().set_limits({static_cast<size_t>(limits.input_memory) << 20, in_all, exempt});
        sessions.unserved().set_limits({static_cast<size_t>(limits.waiting_players),
                                        static_cast<size_t>(next->global.max_waiting_players),
                                        next->global.waiting_timeout, exempt});
        sessions.waiting().set_limits({static_cast<size_t>(limits.waiting_players),
                                       static_cast<size_t>(next->global.max_waiting_players), 0, 0, exempt});
        sessions.deferred().set_limits({static_cast<size_t>(limits.waiting_requests),
                                        static_cast<size_t>(next->global.max_waiting_requests), 0, 0, exempt});
    }
};

// Outlives all that sends.
struct SenderThreads : WithoutClients {
    explicit SenderThreads(const config::Snapshot& snapshot)
        : configured(snapshot.global.sender_threads),
          min_batch(static_cast<size_t>(snapshot.global.sender_min_batch)) {}
    std::string configured;
    size_t min_batch;
    base::Result<void> start() {
        const size_t threads = runtime::sender_threads(configured, runtime::usable_processors());
        if (threads == 0) return {};
        runtime::install_senders(TRY(runtime::Senders::start(threads), "sender_threads"));
        runtime::senders()->set_min_sends(min_batch);
        base::log::trace("{} sender threads", threads);
        return {};
    }
    void stop() { runtime::stop_senders(); }
};

// Samples the traffic of each client, stream and vhost once a period, for the rates.
struct TrafficMeter : WithoutClients {
    explicit TrafficMeter(std::shared_ptr<Shared> shared) : parts(std::move(shared)) {}
    std::shared_ptr<Shared> parts;
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

// Reports what blocks the loop, to the very end: it stops with the loop. It begins when the server runs: before
// that no client notices a stall.
struct LoopWatch : WithoutClients {
    explicit LoopWatch(config::SnapshotPtr first) : snapshot(std::move(first)) {}
    config::SnapshotPtr snapshot;
    base::Result<void> start() { return {}; }
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

}  // namespace

void add_modules(Lifecycle& lifecycle, const config::SnapshotPtr& snapshot, std::shared_ptr<net::Operations> operations,
                 ProcessLink& link) {
    auto shared = std::make_shared<Shared>(*snapshot, std::move(operations));
    shared->offers.other_process = &link;
    link.connect(
        {shared->registry, shared->sessions, shared->gate, shared->offers, shared->api_router, shared->router});
    // In the order of their start.
    lifecycle.add(module_of("watchdog", std::make_shared<LoopWatch>(snapshot)));
    lifecycle.add(module_of("allocator", std::make_shared<Allocator>(snapshot)));
    lifecycle.add(module_of("parent_watch", std::make_shared<ParentWatch>(snapshot)));
    lifecycle.add(module_of("udp_report", std::make_shared<UdpReport>(snapshot)));
    lifecycle.add(module_of("disk", std::make_shared<DiskEngine>(snapshot)));
    lifecycle.add(module_of("senders", std::make_shared<SenderThreads>(*snapshot)));
    lifecycle.add(module_of("live", std::make_shared<LiveEngine>(shared, snapshot)));
    lifecycle.add(module_of("limits", std::make_shared<Limits>(shared, snapshot)));
    lifecycle.add(module_of("traffic", std::make_shared<TrafficMeter>(shared)));
    lifecycle.add(
        module_of("stream_report", std::make_shared<StreamReport>(snapshot, shared->registry, shared->sessions)));
    lifecycle.add(module_of("why", std::make_shared<why::Service>(snapshot, shared->parts)));
    lifecycle.add(module_of("overload", std::make_shared<OverloadWatch>(snapshot, shared->gate, *shared->operations)));
    for (const service::Description* one : services())
        lifecycle.add(with_root_for_ports(one->make(shared->parts, snapshot)));
    shared->operations->audit = shared->offers.audit;
}

}  // namespace server
