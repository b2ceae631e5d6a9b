#include "service/rtsp/service.h"

#include "base/log.h"
#include "live/fanout/live_log.h"
#include "runtime/loop/clock.h"
#include "service/rtsp/config.h"
#include "service/rtsp/interleaved.h"

namespace service::rtsp {

using base::Result;

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate,
                 const Offers& offers, std::string signature)
    : snapshot_(std::move(snapshot)),
      sessions_(sessions),
      registry_(registry),
      gate_(gate),
      offers_(offers),
      signature_(std::move(signature)),
      listeners_(sessions, "RTSP connection", "rtsp-accept",
                 [this](auto socket, auto tls) { accept(std::move(socket), std::move(tls)); }),
      cameras_(sessions, registry, gate,
               {.tasks = pull_tasks, .make = [this](relay::SourceOwner& owner, PullTask task) {
                    return std::make_unique<Camera>(owner, client_tls_, std::move(task));
                }}) {}

Service::~Service() { stop(); }

Result<void> Service::start() {
    TRY(start_server());
    cameras_.start(snapshot_);
    return {};
}

Result<void> Service::start_server() {
    const auto& server = snapshot_->get<ServerConfig>();
    if (!server.enabled) return {};
    TRY(listeners_.open(server.listen, "RTSP", nullptr), "rtsp_server.listen");
    if (server.udp.enabled) {
        const config::ListenAddress& address = server.udp.listen.front();
        udp_ports_ = TRY(UdpPorts::open({address.host, address.port, address.ipv6_only}, rtsp_stats().refused_unknown),
                         "rtsp_server.udp.listen");
        base::log::trace("RTP of RTSP by UDP on {}, RTCP on the next port", address.text());
    }
    timer_ = runtime::spawn("rtsp-housekeeper", [this] { housekeeping(); });
    if (!timer_) return base::fail(base::Code::kSystem, "no coroutine for the RTSP server");
    if (!server.rtsps.enabled) return {};
    TRY(tls_pair_.load(server.rtsps.cert, server.rtsps.key));
    return listeners_.open(server.rtsps.listen, "RTSPS", &tls_pair_);
}

Result<std::move_only_function<void()>> Service::prepare(const config::SnapshotPtr& next) {
    const auto& tls = next->get<ServerConfig>().rtsps;
    auto context = TRY(tls_pair_.prepare(tls.cert, tls.key));
    return [this, next, context = std::move(context)] {
        snapshot_ = next;
        tls_pair_.adopt(context);
        cameras_.reload(next);
    };
}

void Service::accept(std::unique_ptr<runtime::ByteStream> socket, net::TlsPair::Context tls) {
    connections_.start(std::make_unique<Connection>(*this, std::move(socket), std::move(tls)));
}

void Service::housekeeping() {
    while (runtime::sleep_ms(1'000)) {
        for (auto& connection : connections_) connection->check_timeout(runtime::now_ms());
        end_outdated_players();
    }
}

// Players of a track whose codec is another one now: what they were told of it is no longer true, and nothing of it
// comes any more.
void Service::end_outdated_players() {
    registry_.for_each([](live::Stream& stream) {
        stream.for_each_log([&](live::LiveLog& log) {
            if (log.key().format != interleaved_format()) return;
            const PlayKey key(log.key());
            for (size_t i = 0; i < key.size(); ++i) {
                const media::Track* track = stream.tracks()->find(key[i].kind, key[i].index);
                if (track && track->codec != key[i].codec) return log.audience().end_all();
            }
        });
    });
}

void Service::stop() {
    stop_accepting();
    cameras_.stop();
    connections_.close_all();
    if (timer_) timer_.cancel_and_join();
    if (connections_.empty()) udp_ports_.reset();
}

}  // namespace service::rtsp
