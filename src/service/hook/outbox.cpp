#include "service/hook/outbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/loop/clock.h"
#include "service/hook/outbox_parts.h"

namespace service::hook {

namespace {

constexpr int64_t kExpiryCheckMs = 5'000;
constexpr int64_t kLeastPauseMs = 10;  // of the watcher

uint64_t sequence_of(std::string_view vhost, char type, std::string_view name) {
    return std::hash<std::string>()(fmt::format("{}\n{}{}", vhost, type, name));
}

// The ends of players have no order among themselves.
std::array<OrderedReport::Position, 2> positions_of(const NewReport& report) {
    std::array<OrderedReport::Position, 2> positions{};
    if (!report.stream.empty())
        positions[0] = {sequence_of(report.vhost, 's', report.stream), report.hook == Hook::kOnStop};
    if (!report.client_id.empty()) positions[1] = {sequence_of(report.vhost, 'c', report.client_id), false};
    return positions;
}

size_t bytes_of(const SavedReport& report) { return Outbox::kReportBytes + report.body.size() + report.url.size(); }

}  // namespace

Outbox::Outbox(Caller& caller, HookStats& stats, OutboxFile& file, std::string server_id)
    : caller_(caller),
      stats_(stats),
      file_(file),
      server_id_(std::move(server_id)),
      run_(std::make_shared<const std::string>(file.run())) {}

Outbox::~Outbox() { stop(0); }

// ---- Where reports go

const VhostConfig* Outbox::hooks_of(const std::string& vhost) const {
    const config::Vhost* found = snapshot_->find_vhost(vhost);
    return found ? &found->get<VhostConfig>() : nullptr;
}

void Outbox::resolve(Route& route) {
    const VhostConfig* hooks = hooks_of(route.vhost);
    route.snapshot = snapshot_;
    route.hooks = hooks;
    route.host = nullptr;
    if (!hooks || !hooks->enabled || urls_of(route.hook, *hooks).empty()) return;
    const std::vector<std::string>& urls = urls_of(route.hook, *hooks);
    if (const auto own = std::ranges::find(urls, route.own_url); own != urls.end()) {
        route.url = route.own_url;
        route.index = static_cast<size_t>(own - urls.begin());
    } else if (std::ranges::find(urls, route.url) == urls.end()) {
        route.url = urls[std::min(route.index, urls.size() - 1)];
    }
    const std::string name = target_of(route.url);
    Host& host = hosts_.try_emplace(name, Host{.name = name}).first->second;
    host.concurrency = std::max(host.concurrency, static_cast<size_t>(hooks->outbox_concurrency));
    route.host = &host;
}

Outbox::Route* Outbox::route_of(const SavedReport& report) {
    const VhostConfig* hooks = hooks_of(report.vhost);
    if (!hooks || urls_of(report.hook, *hooks).empty()) return nullptr;
    const std::vector<std::string>& urls = urls_of(report.hook, *hooks);
    // The URL of an on_hls_notify is the configured one with its variables replaced.
    const bool is_named = report.hook != Hook::kOnHlsNotify && !report.url.empty();
    const std::string& own_url = is_named ? report.url : urls[std::min(report.index, urls.size() - 1)];
    const RouteName name{report.vhost, report.hook, own_url};
    auto found = routes_.find(name);
    if (found == routes_.end()) {
        Route route{.vhost = report.vhost, .hook = report.hook, .own_url = own_url, .index = report.index};
        resolve(route);
        if (!route.host) return nullptr;
        found = routes_.emplace(name, std::move(route)).first;
    }
    return found->second.host ? &found->second : nullptr;
}

void Outbox::reload(const config::SnapshotPtr& snapshot) {
    snapshot_ = snapshot;
    for (auto& [name, host] : hosts_) host.concurrency = 1;
    std::erase_if(routes_, [](const auto& entry) { return entry.second.waiting == 0; });
    bool is_moved = false;
    for (auto& [name, route] : routes_) {
        const Host* before = route.host;
        resolve(route);
        is_moved |= route.host != before;
    }
    if (is_moved) rebuild();
    std::erase_if(hosts_, [&](const auto& entry) {
        const Host& host = entry.second;
        return host.waiting == 0 && host.workers == 0 &&
               std::ranges::none_of(routes_, [&](const auto& route) { return route.second.host == &host; });
    });
    for (auto& [name, host] : hosts_) start_workers(host);
}

// Reports under way stay with their host. They were first in their sequences, so they are first again.
void Outbox::rebuild() {
    for (auto& [name, host] : hosts_) {
        host.arrived.clear();
        host.order.clear();
        host.ready.clear();
        host.delayed.clear();
    }
    for (auto& [key, report] : reports_)
        if (report.state == Report::State::kSent) {
            (void)report.host->order.add(report);
            report.host->arrived.push_back(key);
        }
    for (auto at = reports_.begin(); at != reports_.end();) {
        Report& report = (at++)->second;
        if (report.state == Report::State::kSent) continue;
        --report.host->waiting;
        report.share->bytes -= report.bytes;
        report.host = report.route->host;
        if (!report.host) {
            record_drop(report.route->hook, Drop::kRemoved);
            --report.route->waiting;
            bytes_ -= report.bytes;
            if (report.is_on_disk) file_.done(report.number);
            reports_.erase(report.key);
            continue;
        }
        enter(report);
    }
    changed_.set();
    if (reports_.empty()) empty_.pulse();
}

// ---- What waits

void Outbox::add(const NewReport& report) {
    const VhostConfig* hooks = hooks_of(report.vhost);
    if (!hooks || !hooks->enabled) return;
    const std::vector<std::string>& urls = urls_of(report.hook, *hooks);
    for (size_t i = 0; i < urls.size(); ++i)
        put({.number = file_.next_number(),
             .run = *run_,
             .made_ms = base::wall_ms(),
             .hook = report.hook,
             .vhost = report.vhost,
             .index = i,
             .url = urls[i],
             .client_id = report.client_id,
             .positions = positions_of(report),
             .body = report.body},
            0, false);
}

void Outbox::add_notify(const std::string& vhost, size_t index, std::string url, const std::string& client_id) {
    put({.number = file_.next_number(),
         .run = *run_,
         .hook = Hook::kOnHlsNotify,
         .vhost = vhost,
         .index = index,
         .url = std::move(url),
         .client_id = client_id,
         .positions = positions_of({Hook::kOnHlsNotify, vhost, "", client_id})},
        0, false);
}

void Outbox::restore(std::vector<SavedReport> saved) {
    const int64_t now_ms = base::wall_ms();
    for (const SavedReport& report : saved) put(report, std::max<int64_t>(0, now_ms - report.made_ms), true);
}

void Outbox::put(const SavedReport& saved, int64_t age_ms, bool is_on_disk) {
    Route* route = route_of(saved);
    const size_t bytes = bytes_of(saved);
    Share* share = route ? &route->host->shares[saved.vhost] : nullptr;
    const auto limit = route ? static_cast<size_t>(route->hooks->outbox_max_size) << 20 : 0;
    if (!route || stopping_ || bytes_ + bytes > kMaxBytes || share->bytes + bytes > limit) {
        if (route) ++route->host->dropped;
        record_drop(saved.hook, !route ? Drop::kRemoved : stopping_ ? Drop::kStopped : Drop::kFull);
        if (is_on_disk) file_.done(saved.number);
        return;
    }
    Report made{};
    made.is_on_disk = is_on_disk;
    if (!is_on_disk && file_.is_open() && route->hooks->outbox && saved.hook != Hook::kOnHlsNotify) {
        file_.add(saved);
        made.is_on_disk = true;
    }
    made.positions = saved.positions;
    made.key = ++last_key_;
    made.number = saved.number;
    made.made_ms = runtime::now_ms() - age_ms;
    made.run = saved.run == *run_ ? run_ : std::make_shared<const std::string>(saved.run);
    made.route = route;
    made.host = route->host;
    made.body = saved.body;
    if (saved.hook == Hook::kOnHlsNotify) made.url = saved.url;
    made.client_id = saved.client_id;
    made.bytes = bytes;
    const auto at = reports_.emplace(last_key_, std::move(made)).first;
    bytes_ += bytes;
    ++route->waiting;
    Host& host = *route->host;
    enter(at->second);
    start_workers(host);
    if (!watcher_ || watcher_.done()) watcher_ = runtime::spawn("hook-outbox", [this] { watch(); });
}

void Outbox::enter(Report& report) {
    Host& host = *report.host;
    ++host.waiting;
    report.share = &host.shares[report.route->vhost];
    report.share->bytes += report.bytes;
    host.arrived.push_back(report.key);
    report.answered_before = host.answered;
    report.state = Report::State::kBlocked;
    if (!host.order.add(report)) return;
    report.state = Report::State::kReady;
    report.ready_at = host.ready.insert(host.ready.end(), &report);
}

void Outbox::finish(Report& report) {
    Host& host = *report.host;
    if (report.state == Report::State::kReady) host.ready.erase(report.ready_at);
    if (report.state == Report::State::kDelayed) host.delayed.erase(report.delayed_at);
    for (OrderedReport* ordered : host.order.done(report)) {
        Report& next = static_cast<Report&>(*ordered);
        next.state = Report::State::kReady;
        next.ready_at = host.ready.insert(host.ready.end(), &next);
    }
    --host.waiting;
    --report.route->waiting;
    report.share->bytes -= report.bytes;
    bytes_ -= report.bytes;
    if (report.is_on_disk) file_.done(report.number);
    reports_.erase(report.key);
    forget_gone(host);
    if (reports_.empty()) {
        changed_.set();
        empty_.pulse();
    }
}

// One that waits long while others are delivered does not let the list grow.
void Outbox::forget_gone(Host& host) {
    constexpr size_t kFew = 64;
    const auto is_gone = [&](uint64_t key) {
        const auto found = reports_.find(key);
        return found == reports_.end() || found->second.host != &host;
    };
    while (!host.arrived.empty() && is_gone(host.arrived.front())) host.arrived.pop_front();
    if (host.arrived.size() > 2 * host.waiting + kFew) std::erase_if(host.arrived, is_gone);
}

int64_t Outbox::oldest_ms(const Host& host) const {
    const auto found = host.arrived.empty() ? reports_.end() : reports_.find(host.arrived.front());
    return found == reports_.end() ? runtime::now_ms() : found->second.made_ms;
}

void Outbox::drop(Report& report, Drop why) {
    ++report.host->dropped;
    record_drop(report.route->hook, why);
    finish(report);
}

void Outbox::record_drop(Hook hook, Drop why) {
    ++stats_.at(hook).dropped;
    ++stats_.dropped[static_cast<size_t>(why)];
    runtime::warn_some(drop_log_, "hook {}: a report was dropped ({}), {} so far", hook_name(hook), drop_name(why),
                       stats_.at(hook).dropped);
}

// ---- As time passes

int64_t Outbox::next_event_ms() const {
    int64_t next = runtime::now_ms() + kExpiryCheckMs;
    for (const auto& [name, host] : hosts_) {
        if (!host.delayed.empty()) next = std::min(next, host.delayed.begin()->first);
        if (host.breaker.is_open() && !host.ready.empty() && host.workers == 0) next = std::min(next, host.probe_ms);
    }
    return std::max(next, runtime::now_ms() + kLeastPauseMs);
}

void Outbox::watch() {
    int64_t expiry_ms = runtime::now_ms() + kExpiryCheckMs;
    while (!reports_.empty() && !runtime::cancelled()) {
        changed_.reset();
        auto waited = changed_.wait(runtime::Deadline::at_us(next_event_ms() * 1000));
        if (!waited && waited.error().code() == base::Code::kCancelled) return;
        const int64_t now_ms = runtime::now_ms();
        if (now_ms >= expiry_ms) {
            drop_expired();
            expiry_ms = now_ms + kExpiryCheckMs;
        }
        for (auto& [name, host] : hosts_) {
            while (!host.delayed.empty() && host.delayed.begin()->first <= now_ms) {
                Report& report = *host.delayed.begin()->second;
                host.delayed.erase(host.delayed.begin());
                report.state = Report::State::kReady;
                report.ready_at = host.ready.insert(host.ready.end(), &report);
            }
            start_workers(host);
        }
    }
}

// The oldest of a sequence may be sent, so those that may not are younger.
void Outbox::drop_expired() {
    const int64_t now_ms = runtime::now_ms();
    const auto is_expired = [&](const Report& report) {
        const int64_t max_ms = report.route->hook == Hook::kOnHlsNotify
                                   ? kNotifyMaxAgeMs
                                   : int64_t{1000} * report.route->hooks->outbox_max_age;
        return now_ms - report.made_ms > max_ms;
    };
    for (auto& [name, host] : hosts_) {
        // Those that may be sent because of it are appended, and come as well.
        for (auto at = host.ready.begin(); at != host.ready.end();) {
            Report& report = **at;
            const bool expires = is_expired(report);
            if (!expires) {
                ++at;
                continue;
            }
            const auto before = at == host.ready.begin() ? host.ready.end() : std::prev(at);
            drop(report, Drop::kAge);
            at = before == host.ready.end() ? host.ready.begin() : std::next(before);
        }
        std::vector<Report*> late;
        for (const auto& [due, report] : host.delayed)
            if (is_expired(*report)) late.push_back(report);
        for (Report* report : late) drop(*report, Drop::kAge);
    }
}

bool Outbox::may_progress() const {
    return std::ranges::any_of(hosts_, [](const auto& entry) {
        const Host& host = entry.second;
        return host.waiting > 0 && !host.breaker.is_open();
    });
}

void Outbox::stop(int64_t wait_ms) {
    constexpr int64_t kPollMs = 50;
    const auto until = runtime::Deadline::in_ms(wait_ms);
    while (may_progress() && !until.passed() && !runtime::cancelled())
        (void)empty_.wait_next(earlier(until, runtime::Deadline::in_ms(kPollMs))).has_value();
    stopping_ = true;
    if (watcher_) watcher_.cancel_and_join();
    for (runtime::Task& task : std::exchange(workers_, {})) task.cancel_and_join();
    file_.settle();
    size_t kept = 0, dropped = 0;
    for (const auto& [key, report] : reports_) {
        const bool is_kept = report.is_on_disk && file_.has(report.number);
        ++(is_kept ? kept : dropped);
        if (!is_kept) record_drop(report.route->hook, Drop::kStopped);
    }
    if (kept > 0) base::log::warn("hooks: {} reports wait in the outbox for the next start", kept);
    if (dropped > 0) base::log::warn("hooks: {} reports are dropped, the server stops", dropped);
    reports_.clear();
    routes_.clear();
    hosts_.clear();
    bytes_ = 0;
}

std::vector<Outbox::HostView> Outbox::hosts() const {
    std::vector<HostView> views;
    const int64_t now_ms = runtime::now_ms();
    for (const auto& [name, host] : hosts_) {
        HostView view{.name = name, .is_down = host.breaker.is_open(), .last_error = host.breaker.last_error()};
        if (host.breaker.since_ms() > 0) view.since_ms = now_ms - host.breaker.since_ms();
        view.waiting = host.waiting;
        view.in_flight = host.in_flight;
        for (const auto& [vhost, share] : host.shares) view.bytes += share.bytes;
        view.oldest_ms = now_ms - oldest_ms(host);
        view.delivered = host.delivered;
        view.dropped = host.dropped;
        views.push_back(std::move(view));
    }
    return views;
}

}  // namespace service::hook
