#include "service/hook/service.h"

#include <algorithm>
#include <array>

#include "runtime/diagnose/machine.h"
#include "service/hook/config.h"
#include "service/stream_view.h"

namespace service::hook {

using base::Code;
using base::Result;
using net::Action;

namespace {

constexpr int64_t kStopMs = 3'000;

struct Pair {
    Hook begin, end;
};

constexpr Pair pair_of(Action action) {
    switch (action) {
        case Action::kConnect:
            return {Hook::kOnConnect, Hook::kOnClose};
        case Action::kPublish:
            return {Hook::kOnPublish, Hook::kOnUnpublish};
        case Action::kPlay:
            return {Hook::kOnPlay, Hook::kOnStop};
    }
    return {Hook::kOnPlay, Hook::kOnStop};
}

// By Hook.
constexpr std::array<std::vector<std::string> VhostConfig::*, kHookNames.size()> kUrls = {
    &VhostConfig::on_connect,    &VhostConfig::on_close,  &VhostConfig::on_publish, &VhostConfig::on_unpublish,
    &VhostConfig::on_play,       &VhostConfig::on_stop,   &VhostConfig::on_dvr,     &VhostConfig::on_hls,
    &VhostConfig::on_hls_notify, &VhostConfig::on_standby};

const std::vector<std::string>& urls_of(Hook hook, const VhostConfig& hooks) {
    return hooks.*kUrls[static_cast<size_t>(hook)];
}

}  // namespace

Service::Service(config::SnapshotPtr snapshot, net::Gate& gate, live::Events& events, live::Registry& registry,
                 std::string service_id)
    : snapshot_(std::move(snapshot)),
      gate_(gate),
      events_(events),
      registry_(registry),
      identity_{snapshot_->global.server_id, std::move(service_id), runtime::working_directory()},
      caller_(stats_),
      reporter_(caller_, stats_) {}

Service::~Service() { stop(); }

Result<void> Service::start() {
    gate_.add(*this);
    events_.subscribe(*this);
    registry_.watch(*this);
    started_ = true;
    return {};
}

void Service::stop() {
    if (!started_) return;
    started_ = false;
    gate_.remove(*this);
    events_.unsubscribe(*this);
    registry_.unwatch(*this);
    ends_.send_all();
    reporter_.stop(kStopMs);
}

const VhostConfig* Service::hooks_of(const std::string& vhost) const {
    const config::Vhost* found = snapshot_->find_vhost(vhost);
    const VhostConfig* hooks = found ? &found->get<VhostConfig>() : nullptr;
    return hooks && hooks->enabled ? hooks : nullptr;
}

bool Service::may_yield(Action action, const config::Vhost& vhost) const {
    const auto& hooks = vhost.get<VhostConfig>();
    return hooks.enabled && !urls_of(pair_of(action).begin, hooks).empty();
}

bool Service::follows(Action action, const config::Vhost& vhost) const {
    const VhostConfig& hooks = vhost.get<VhostConfig>();
    // Publishers are followed for more than their end: on_dvr, on_hls.
    return hooks.enabled && (action == Action::kPublish || !urls_of(pair_of(action).end, hooks).empty());
}

size_t Service::clients_with(const net::Visitor& visitor) const {
    const auto stream = registry_.find(visitor.key());
    return 1 + (stream ? clients_of(*stream) : 0);
}

Result<void> Service::admit(const net::Visitor& visitor, const config::Vhost& vhost) {
    const VhostConfig& hooks = vhost.get<VhostConfig>();
    if (!hooks.enabled) return {};
    const Hook hook = pair_of(visitor.action).begin;
    const std::vector<std::string>& urls = urls_of(hook, hooks);
    const std::string body = urls.empty() ? "" : client_body(hook, identity_, visitor, {}, clients_with(visitor));
    const bool open = std::ranges::find(hooks.fail_open, hook_name(hook)) != hooks.fail_open.end();
    bool sent = false;
    for (const std::string& url : urls) {
        auto called = caller_.call({hook, url, body}, hooks, &sent);
        if (called && visitor.passphrase && !called->passphrase.empty()) *visitor.passphrase = called->passphrase;
        if (called) continue;
        if (called.error().code() == Code::kCancelled) {
            // The hook server may have accepted the client already: it is notified of the end, too.
            if (sent) left(visitor, {});
            return std::unexpected(std::move(called).error());
        }
        if (called.error().code() == Code::kRefused || !open)
            return base::fail(base::CloseReason::kRefusedHook, called.error().text());
        runtime::warn_some(fail_open_log_, "{} of {} continues without the hook's answer (fail_open)",
                           net::action_name(visitor.action), visitor.ip);
    }
    if (visitor.action == Action::kPublish) publishers_.came(visitor);
    return {};
}

void Service::left(const net::Visitor& visitor, const net::Traffic& traffic) {
    if (visitor.action == Action::kPublish) publishers_.left(visitor);
    const VhostConfig* hooks = hooks_of(visitor.vhost);
    if (!hooks) return;
    const Hook hook = pair_of(visitor.action).end;
    if (urls_of(hook, *hooks).empty()) return;
    EndReports::Report end{hook, visitor.vhost, visitor.id,
                           client_body(hook, identity_, visitor, traffic, clients_with(visitor))};
    if (hooks->on_dvr.empty()) return report_end(end);
    ends_.add(std::move(end));
}

void Service::report_end(const EndReports::Report& end) {
    if (const VhostConfig* hooks = hooks_of(end.vhost)) report(end.hook, *hooks, end.body, end.client_id);
}

void Service::report(Hook hook, const VhostConfig& hooks, const std::string& body, const std::string& client_id) {
    for (const std::string& url : urls_of(hook, hooks))
        reporter_.add({{hook, url, body}, client_id, snapshot_, &hooks});
}

void Service::on_recording(const live::RecordingDone& event) {
    const VhostConfig* hooks = hooks_of(event.stream.vhost);
    if (!hooks || hooks->on_dvr.empty()) return;
    net::Visitor publisher =
        event.recovered ? Publishers::unknown(event.stream) : publishers_.find(event.stream, event.publisher);
    report(Hook::kOnDvr, *hooks, dvr_body(identity_, publisher, event), publisher.id);
}

void Service::on_segment(const live::SegmentDone& event) {
    const VhostConfig* hooks = hooks_of(event.stream.vhost);
    if (!hooks || (hooks->on_hls.empty() && hooks->on_hls_notify.empty())) return;
    net::Visitor publisher = publishers_.find(event.stream, event.publisher);
    if (!hooks->on_hls.empty()) report(Hook::kOnHls, *hooks, hls_body(identity_, publisher, event), publisher.id);
    for (const std::string& pattern : hooks->on_hls_notify)
        reporter_.add({{Hook::kOnHlsNotify, notify_url(pattern, identity_, publisher, event.url), ""},
                       publisher.id,
                       snapshot_,
                       hooks});
}

// A stream that the server itself pulls has no visitor.
void Service::standby_changed(live::Stream& stream, const live::StandbyChange& change) {
    const VhostConfig* hooks = hooks_of(stream.key().vhost);
    if (!hooks || hooks->on_standby.empty()) return;
    net::Visitor publisher = publishers_.find(stream.key(), change.publisher.session_id);
    if (publisher.ip.empty()) {
        publisher.ip = change.publisher.ip;
        publisher.tc_url = change.publisher.tc_url;
    }
    report(Hook::kOnStandby, *hooks, standby_body(identity_, publisher, change), publisher.id);
}

}  // namespace service::hook
