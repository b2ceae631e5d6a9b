#include "service/hook/service.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "net/sessions/account.h"
#include "runtime/diagnose/machine.h"
#include "runtime/loop/clock.h"
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

bool has_outbox(const config::Snapshot& snapshot) {
    return std::ranges::any_of(snapshot.vhosts, [](const config::Vhost& vhost) {
        const auto& hooks = vhost.get<VhostConfig>();
        return hooks.enabled && hooks.outbox;
    });
}

// A client may play several streams, and publish one, under one id.
std::string session_name(const net::Visitor& visitor) {
    return fmt::format("{} {} {}", visitor.id, net::action_name(visitor.action), visitor.key().text());
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
      file_(snapshot_->get<ServerConfig>().hook_outbox, identity_.service_id),
      outbox_(caller_, stats_, file_, identity_.server_id) {
    outbox_.reload(snapshot_);
}

Service::~Service() { stop(); }

Result<void> Service::start() {
    gate_.add(*this);
    events_.subscribe(*this);
    registry_.watch(*this);
    started_ = true;
    SavedOutbox left;
    if (has_outbox(*snapshot_) || file_.exists()) {
        auto opened = file_.open();
        if (opened)
            left = *std::move(opened);
        else
            base::log::error("hook_outbox: {}; reports are kept in memory alone", opened.error().describe());
        if (!opened && opened.error().code() == Code::kBusy)
            opener_ = runtime::spawn("hook-outbox-open", [this] { open_later(); });
    }
    report_start(left);
    restore(std::move(left));
    return {};
}

// Another server has the file, as one that is being replaced by this one.
void Service::open_later() {
    constexpr int64_t kPauseMs = 1'000;
    while (runtime::sleep_ms(kPauseMs)) {
        auto opened = file_.open();
        if (!opened && opened.error().code() == Code::kBusy) continue;
        if (opened) {
            base::log::warn("hook_outbox: it is free now; reports are kept on disk from now on");
            restore(*std::move(opened));
        }
        return;
    }
}

// One that could not be opened at the start does not refuse what else is changed.
bool Service::opens_file(const config::Snapshot& next) const {
    const bool is_new = has_outbox(next) && !has_outbox(*snapshot_);
    return is_new && !file_.is_open() && (!opener_ || opener_.done());
}

Result<void> Service::check(const config::SnapshotPtr& next) const {
    if (opens_file(*next)) TRY(file_.check(), "hook_outbox");
    return {};
}

Result<Commit> Service::prepare(const config::SnapshotPtr& next) {
    if (opens_file(*next)) found_ = TRY(file_.open(), "hook_outbox");
    return [this, next] {
        snapshot_ = next;
        outbox_.reload(next);
        restore(std::exchange(found_, {}));
    };
}

void Service::stop() {
    if (!started_) return;
    started_ = false;
    if (opener_) opener_.cancel_and_join();
    gate_.remove(*this);
    events_.unsubscribe(*this);
    registry_.unwatch(*this);
    ends_.send_all();
    outbox_.stop(kStopMs);
    file_.stop();
}

// ---- What an earlier run left

void Service::report_start(const SavedOutbox& left) {
    for (const config::Vhost& vhost : snapshot_->vhosts) {
        const auto& hooks = vhost.get<VhostConfig>();
        if (hooks.enabled && !hooks.on_start.empty())
            outbox_.add({Hook::kOnStart, vhost.name, start_body(identity_, vhost.name, left)});
    }
}

void Service::restore(SavedOutbox left) {
    outbox_.restore(std::move(left.reports));
    if (!left.sessions.empty())
        base::log::warn("hooks: the end of {} clients was cut by a crash; it is reported now", left.sessions.size());
    for (const SavedSession& session : left.sessions) {
        const net::Visitor& visitor = session.visitor;
        if (visitor.action == Action::kPublish) cut_publishers_.insert_or_assign(visitor.key(), visitor);
        Identity identity = identity_;
        identity.service_id = session.run;  // what was told about it before has that
        const Hook hook = pair_of(visitor.action).end;
        report(hook, visitor.key(), client_body(hook, identity, visitor, {}, 1), visitor.id);
        file_.done(session.number);
    }
}

void Service::record_session(const net::Visitor& visitor, const VhostConfig& hooks) {
    if (!hooks.outbox || !file_.is_open() || urls_of(pair_of(visitor.action).end, hooks).empty()) return;
    const auto [at, is_new] = sessions_.try_emplace(session_name(visitor), 0);
    if (!is_new) return;
    at->second = file_.next_number();
    SavedSession session{at->second, identity_.service_id, visitor};
    session.visitor.param = net::reported_param(visitor.type, visitor.param);
    file_.add(session);
}

uint64_t Service::take_session(const net::Visitor& visitor) {
    const auto found = sessions_.find(session_name(visitor));
    if (found == sessions_.end()) return 0;
    const uint64_t number = found->second;
    sessions_.erase(found);
    return number;
}

// ---- What is asked and told

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
    bool sent = false;
    for (const std::string& url : urls) {
        const std::string key = hooks.on_failure == "last" ? RememberedAnswers::key_of(hook, url, visitor) : "";
        auto called = caller_.ask({hook, url, body}, hooks, &sent);
        if (called) {
            if (!key.empty()) remembered_.admitted(key, *called, runtime::now_ms());
            if (visitor.passphrase && !called->passphrase.empty()) *visitor.passphrase = called->passphrase;
            continue;
        }
        if (called.error().code() == Code::kCancelled) {
            // The hook server may have accepted the client already: it is notified of the end, too.
            if (sent) left(visitor, {});
            return std::unexpected(std::move(called).error());
        }
        if (called.error().code() == Code::kRefused) remembered_.refused(key);
        if (called.error().code() == Code::kRefused || !admits_without(hook, hooks, key, visitor))
            return base::fail(base::CloseReason::kRefusedHook, called.error().text());
        runtime::warn_some(fail_open_log_, "{} of {} continues without the hook's answer (on_failure, fail_open)",
                           net::action_name(visitor.action), visitor.ip);
    }
    if (visitor.action == Action::kPublish) publishers_.came(visitor);
    record_session(visitor, hooks);
    return {};
}

bool Service::admits_without(Hook hook, const VhostConfig& hooks, const std::string& key, const net::Visitor& visitor) {
    if (std::ranges::find(hooks.fail_open, hook_name(hook)) != hooks.fail_open.end()) return true;
    if (hooks.on_failure != "last") return hooks.on_failure == "allow";
    const auto answer = remembered_.find(key, runtime::now_ms());
    if (answer && visitor.passphrase && !answer->passphrase.empty()) *visitor.passphrase = answer->passphrase;
    return answer.has_value();
}

void Service::left(const net::Visitor& visitor, const net::Traffic& traffic) {
    if (visitor.action == Action::kPublish) publishers_.left(visitor);
    const uint64_t session = take_session(visitor);
    const VhostConfig* hooks = hooks_of(visitor.vhost);
    const Hook hook = pair_of(visitor.action).end;
    if (!hooks || urls_of(hook, *hooks).empty()) return file_.done(session);
    EndReports::Report end{hook,
                           visitor.vhost,
                           visitor.id,
                           client_body(hook, identity_, visitor, traffic, clients_with(visitor)),
                           hook == Hook::kOnClose ? "" : visitor.app + "/" + visitor.stream,
                           session};
    if (hooks->on_dvr.empty()) return report_end(end);
    ends_.add(std::move(end));
}

void Service::report_end(const EndReports::Report& end) {
    outbox_.add({end.hook, end.vhost, end.body, end.client_id, end.stream});
    file_.done(end.session);
}

void Service::report(Hook hook, const live::StreamKey& stream, std::string body, const std::string& client_id) {
    const std::string name = hook == Hook::kOnClose ? "" : stream.app + "/" + stream.name;
    outbox_.add({hook, stream.vhost, std::move(body), client_id, name});
}

void Service::on_recording(const live::RecordingDone& event) {
    const VhostConfig* hooks = hooks_of(event.stream.vhost);
    if (!hooks || hooks->on_dvr.empty()) return;
    net::Visitor publisher = publishers_.find(event.stream, event.publisher);
    if (event.recovered) {
        const auto cut = cut_publishers_.find(event.stream);
        publisher = cut == cut_publishers_.end() ? Publishers::unknown(event.stream) : cut->second;
    }
    report(Hook::kOnDvr, event.stream, dvr_body(identity_, publisher, event), publisher.id);
}

void Service::on_segment(const live::SegmentDone& event) {
    const VhostConfig* hooks = hooks_of(event.stream.vhost);
    if (!hooks || (hooks->on_hls.empty() && hooks->on_hls_notify.empty())) return;
    net::Visitor publisher = publishers_.find(event.stream, event.publisher);
    if (!hooks->on_hls.empty()) report(Hook::kOnHls, event.stream, hls_body(identity_, publisher, event), publisher.id);
    for (size_t i = 0; i < hooks->on_hls_notify.size(); ++i)
        outbox_.add_notify(event.stream.vhost, i, notify_url(hooks->on_hls_notify[i], identity_, publisher, event.url),
                           publisher.id);
}

void Service::report_alert(const Alert& alert) {
    const auto tell = [&](const config::Vhost& vhost) {
        const auto& hooks = vhost.get<VhostConfig>();
        if (!hooks.enabled || hooks.on_alert.empty()) return;
        report(Hook::kOnAlert, {vhost.name, alert.stream.app, alert.stream.name},
               alert_body(identity_, vhost.name, alert), "");
    };
    if (alert.stream.name.empty())
        std::ranges::for_each(snapshot_->vhosts, tell);
    else if (const config::Vhost* vhost = snapshot_->find_vhost(alert.stream.vhost))
        tell(*vhost);
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
    report(Hook::kOnStandby, stream.key(), standby_body(identity_, publisher, change), publisher.id);
}

}  // namespace service::hook
