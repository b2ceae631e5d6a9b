#include "server/modules.h"

#include "base/log.h"
#include "live/events.h"
#include "live/registry.h"
#include "net/gate.h"
#include "net/hook_stats.h"
#include "net/http_router.h"
#include "net/operations.h"
#include "net/session.h"
#include "net/signed_urls.h"
#include "runtime/coroutine.h"
#include "runtime/watchdog.h"
#include "server/diagnostics.h"
#include "server/disk_engine.h"
#include "server/overload.h"
#include "server/parent_watch.h"
#include "server/udp_report.h"
#include "server/version.h"
#include "service/api/service.h"
#include "service/dvr/service.h"
#include "service/hls/service.h"
#include "service/hook/service.h"
#include "service/http_live/service.h"
#include "service/http_server/service.h"
#include "service/rtmp/service.h"

namespace server {
namespace {

// What services share, in the order in which it must come to be. It outlives them: each holds it.
struct House {
    net::SessionTable sessions;
    net::SignedUrls signed_urls;
    net::Gate gate;
    net::HookStats hook_stats;
    live::Registry registry;
    live::Events events;
    net::HttpRouter router;
    net::HttpRouter api_router;
    std::shared_ptr<net::Operations> operations;
};

template <class Service, class... Args>
std::shared_ptr<Service> in_house(const std::shared_ptr<House>& house, Args&&... args) {
    struct Lodger {
        Lodger(std::shared_ptr<House> shared, Args&&... rest)
            : house(std::move(shared)), service(std::forward<Args>(rest)...) {}
        std::shared_ptr<House> house;
        Service service;
    };
    auto lodger = std::make_shared<Lodger>(house, std::forward<Args>(args)...);
    return std::shared_ptr<Service>(lodger, &lodger->service);
}

// The engine itself, as one more that is started and stopped.
struct LiveEngine {
    std::shared_ptr<House> house;
    base::Result<void> start() {
        house->registry.start();
        return {};
    }
    void stop_accepting() {}
    bool idle() const { return true; }
    void stop() { house->registry.stop(); }
};

// Who holds up the loop is told.
struct LoopWatch {
    config::SnapshotPtr snapshot;
    base::Result<void> start() { return runtime::watch_stalls(snapshot->global.stall_warn); }
    void stop_accepting() {}
    bool idle() const { return true; }
    void stop() {}  // to the very end: with the loop
    void reload(const config::SnapshotPtr& next) {
        auto watched = runtime::watch_stalls(next->global.stall_warn);
        if (!watched) base::log::error("stall_warn: {}", watched.error().describe());
    }
};

// tcmalloc, where this build has it.
struct Allocator {
    config::SnapshotPtr snapshot;
    base::Result<void> start() {
        reload(snapshot);
        return {};
    }
    void stop_accepting() {}
    bool idle() const { return true; }
    void stop() {}
    void reload(const config::SnapshotPtr& next) {
        if (!set_release_rate(next->global.tcmalloc_release_rate) && next->where("tcmalloc_release_rate") != "default")
            base::log::warn("tcmalloc_release_rate does nothing: this build has the C library's allocator");
    }
};

}  // namespace

void add_modules(Lifecycle& lifecycle, const config::SnapshotPtr& snapshot,
                 std::shared_ptr<net::Operations> operations) {
    auto house = std::make_shared<House>();
    house->operations = std::move(operations);
    // One line for each service, in the order in which they start. The HTTP servers start last: their routes are there
    // by then.
    lifecycle.add(module_of("watchdog", std::make_shared<LoopWatch>(snapshot)));
    lifecycle.add(module_of("allocator", std::make_shared<Allocator>(snapshot)));
    lifecycle.add(module_of("parent_watch", std::make_shared<ParentWatch>(snapshot)));
    lifecycle.add(module_of("udp_report", std::make_shared<UdpReport>(snapshot)));
    lifecycle.add(module_of("disk", std::make_shared<DiskEngine>(snapshot)));
    lifecycle.add(module_of("live", std::make_shared<LiveEngine>(house)));
    lifecycle.add(module_of("overload", in_house<OverloadWatch>(house, snapshot, house->gate, *house->operations)));
    // In the order in which they are asked; hooks, which take their time, last.
    house->gate.add(house->signed_urls);
    lifecycle.add(module_of(
        "hook", in_house<service::hook::Service>(house, snapshot, house->gate, house->events, house->hook_stats)));
    // Before publishers: they end first, and their files are completed then.
    lifecycle.add(module_of("dvr", in_house<service::dvr::Service>(house, snapshot, house->registry, house->events)));
    lifecycle.add(module_of("hls", in_house<service::hls::Service>(house, snapshot, house->sessions, house->registry,
                                                                   house->events, house->router, house->gate)));
    lifecycle.add(module_of(
        "rtmp", in_house<service::rtmp::Service>(house, snapshot, house->sessions, house->registry, house->gate)));
    lifecycle.add(
        module_of("http_live", in_house<service::http_live::Service>(house, snapshot, house->sessions, house->registry,
                                                                     house->router, house->gate)));
    lifecycle.add(
        module_of("http_server", in_house<service::http_server::Service>(house, snapshot, house->sessions,
                                                                         house->router, std::string(kSignature))));
    lifecycle.add(module_of("http_api", in_house<service::api::Service>(house, snapshot, house->sessions,
                                                                        house->api_router, std::string(kSignature),
                                                                        std::string(kVersion), *house->operations)));
}

}  // namespace server
