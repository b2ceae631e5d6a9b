#include "service/srt/service.h"

#include <utility>

#include "base/log.h"
#include "runtime/loop/random.h"
#include "service/srt/config.h"
#include "service/srt/play_session.h"
#include "service/srt/publish_session.h"

namespace service::srt {

using base::CloseReason;
using base::Result;

namespace {

// Bursts occur when a keyframe goes to many players, or many of them acknowledge.
constexpr int kBufferBytes = 4 * 1024 * 1024;

}  // namespace

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& table, live::Registry& registry, net::Gate& gate)
    : snapshot_(std::move(snapshot)),
      table_(table),
      registry_(registry),
      gate_(gate),
      pulls_(table, registry, gate, {.tasks = pull_tasks, .make = [](relay::SourceOwner& owner, PullTask task) {
                                         return std::make_unique<IngestPull>(owner, std::move(task));
                                     }}) {}

Service::~Service() { stop(); }

Result<void> Service::start() {
    pulls_.start(snapshot_);
    const auto& server = snapshot_->get<ServerConfig>();
    if (!server.enabled) return {};
    callers_ = std::make_unique<Callers>(static_cast<CallerOwner&>(*this), table_, registry_, gate_, snapshot_, stats_);
    for (const config::ListenAddress& address : server.listen) {
        ports_.push_back(TRY(runtime::DatagramPort::open({address.host, address.port, address.ipv6_only},
                                                         {.receive_buffer_bytes = kBufferBytes,
                                                          .send_buffer_bytes = kBufferBytes,
                                                          .reports_destination = true,
                                                          .for_clients = true},
                                                         "SRT", *this),
                             "srt_server.listen"));
        base::log::trace("SRT listens on {}/udp", address.text());
    }
    housekeeper_ = runtime::spawn("srt-housekeeper", [this] { run_housekeeping(); });
    return {};
}

void Service::stop_accepting() {
    if (callers_) callers_->stop_accepting();
}

void Service::stop() {
    pulls_.stop();
    callers_.reset();
    for (const auto& session : sessions_) session->end("the server stops", CloseReason::kServerStop);
    while (!sessions_.empty() && housekeeper_ && !housekeeper_.done())
        if (!empty_.wait(runtime::Deadline::in_ms(1'000)) && runtime::cancelled()) break;
    if (housekeeper_) housekeeper_.cancel_and_join();
    reap();
    for (auto& port : ports_) port->flush();
    ports_.clear();
}

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    pulls_.reload(next);
    if (callers_) callers_->reload(next);
}

void Service::on_datagram(const runtime::UdpPacket& packet, runtime::DatagramPort& port, int64_t now_us) {
    ++stats_.datagrams;
    if (!::srt::is_packet(packet.bytes)) return void(++stats_.unknown);
    const uint32_t id = ::srt::destination_of(packet.bytes);
    if (id == 0) return callers_ ? callers_->on_datagram(packet, port, now_us) : void(++stats_.unknown);
    const auto found = by_id_.find(id);
    if (found == by_id_.end() || found->second->caller().from != packet.from) {
        if (!port.pass_on(packet.bytes, packet.from, packet.destination)) ++stats_.unknown;
        return;
    }
    found->second->on_datagram(packet.bytes, now_us);
}

Session* Service::find(const CallerKey& caller) {
    const auto found = by_caller_.find(caller);
    return found == by_caller_.end() ? nullptr : found->second;
}

uint32_t Service::new_id() {
    constexpr uint32_t kMaxId = (1u << 30) - 1;  // above are libsrt's groups
    for (;;)
        if (const uint32_t id = runtime::secret_u32() & kMaxId; id != 0 && !by_id_.contains(id)) return id;
}

// An encoder that starts again from the same port has another socket id, and its old session has the name.
Session* Service::publisher_from(const base::Endpoint& from, const live::StreamKey& stream) const {
    for (auto at = by_caller_.lower_bound({from, 0}); at != by_caller_.end() && at->first.from == from; ++at)
        if (!at->second->ended() && at->second->key() == stream && net::publishes(at->second->type()))
            return at->second;
    return nullptr;
}

bool Service::replaces(const CallerKey& caller, const live::StreamKey& stream) const {
    return publisher_from(caller.from, stream) != nullptr;
}

Result<Session*> Service::begin(AdmittedCaller caller, bool publishes) {
    const CallerKey key = caller.caller;
    SessionHost& host = *this;
    std::unique_ptr<Session> session;
    if (publishes) {
        if (Session* old = publisher_from(key.from, caller.stream->key()))
            old->replace("its encoder has started again");
        auto publisher = std::make_unique<PublishSession>(host, table_, std::move(caller), stats_);
        TRY(publisher->acquire());
        session = std::move(publisher);
    } else {
        session = std::make_unique<PlaySession>(host, table_, std::move(caller), stats_);
    }
    Session& begun = sessions_.add(std::move(session));
    by_id_.emplace(begun.own_id(), &begun);
    by_caller_.emplace(key, &begun);
    empty_.reset();
    base::log::trace("{} began: {} from {}, {}", net::session_type_name(begun.type()), begun.stream_text(),
                     key.from.text(), begun.describe());
    return &begun;
}

void Service::end_soon(Session& session) {
    ending_.push_back(&session);
    work_.set();
}

void Service::run_housekeeping() {
    while (work_.wait(runtime::Deadline::never())) {
        work_.reset();
        reap();
    }
}

void Service::reap() {
    while (!ending_.empty()) {
        Session& session = *ending_.back();
        ending_.pop_back();
        session.close();
        by_id_.erase(session.own_id());
        by_caller_.erase(session.caller());
        sessions_.remove(session);
    }
    if (sessions_.empty()) empty_.set();
}

}  // namespace service::srt
