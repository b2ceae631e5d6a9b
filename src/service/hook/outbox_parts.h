#pragma once
// The parts of the outbox, for its own sources: hosts, the routes to them, reports.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "runtime/loop/backoff.h"
#include "service/hook/outbox.h"

namespace service::hook {

inline constexpr int64_t kFirstPauseMs = 500, kLongestPauseMs = 30'000;  // between attempts

// What a vhost has waiting for a host.
struct Outbox::Share {
    size_t bytes = 0;
};

struct Outbox::Host {
    std::string name;
    Breaker breaker{};
    runtime::Backoff backoff{kFirstPauseMs, kLongestPauseMs};
    int64_t probe_ms = 0;  // while it is down: when the next call is due
    size_t concurrency = 1;
    size_t workers = 0;
    size_t in_flight = 0;                 // calls
    uint64_t answered = 0;                // calls with a valid answer
    uint64_t delivered = 0, dropped = 0;  // reports
    size_t waiting = 0;                   // reports, with those under way
    std::deque<uint64_t> arrived{};       // keys in their order, some of which are not here any more
    ReportOrder order{};
    std::list<Report*> ready{};                          // may be sent now
    std::multimap<int64_t, Report*> delayed{};           // may be sent then, ms of the loop's clock
    std::map<std::string, Share, std::less<>> shares{};  // by vhost
};

struct Outbox::Route {
    std::string vhost;
    Hook hook;
    std::string own_url;   // of the configuration when its reports were made
    size_t index;          // of own_url in that or, if it is still there, now
    std::string url{};     // where they go: own_url, or what replaces it
    Host* host = nullptr;  // null: the hook is not configured any more
    config::SnapshotPtr snapshot{};
    const VhostConfig* hooks = nullptr;
    size_t waiting = 0;
};

struct Outbox::Report : OrderedReport {
    enum class State : uint8_t { kBlocked, kReady, kDelayed, kSent };
    uint64_t key;     // in reports_; grows
    uint64_t number;  // of its run and of the file: one that was left may have that of a younger one
    int64_t made_ms;  // by the loop's clock
    std::shared_ptr<const std::string> run;
    Route* route;
    Host* host;
    Share* share;
    std::string body, url, client_id;
    size_t bytes;
    bool is_on_disk = false;  // it was given to the file, which may have lost it
    State state = State::kBlocked;
    uint16_t attempts = 0;
    uint16_t own_failures = 0;                                 // while its host gave others a valid answer
    runtime::Backoff backoff{kFirstPauseMs, kLongestPauseMs};  // between its attempts, while the host is not down
    uint64_t answered_before = 0;                              // Host::answered at the last attempt
    std::multimap<int64_t, Report*>::iterator delayed_at{};
    std::list<Report*>::iterator ready_at{};

    const std::string& address() const { return url.empty() ? route->url : url; }
    std::string id(std::string_view server_id) const { return fmt::format("{}-{}-{}", server_id, *run, number); }
    // The body with its id as the last member.
    std::string text(std::string_view server_id) const {
        if (body.empty()) return {};
        return fmt::format("{}{}\"report_id\":{}}}", std::string_view(body).substr(0, body.size() - 1),
                           body.size() > 2 ? "," : "", base::to_text(base::OrderedJson(id(server_id))));
    }
};

}  // namespace service::hook
