// A Connection's answers to requests: connect and the end of a stream, and what play (play.cpp) and publish
// (publish.cpp) have in common: the key that a name stands for, and the guards of the gate. What was admitted at
// connect holds for the vhost and app that connect named. A stream of others is asked about like a connect of its own
// first: on_connect and token_traverse have decided about each key that is published or played.

#include "base/log.h"
#include "base/text.h"
#include "runtime/loop/clock.h"
#include "service/rtmp/connection.h"
#include "service/rtmp/service.h"

namespace service::rtmp {

using base::CloseReason;
using base::Code;
using base::Result;

namespace {

// Parameters of a URL may hold secrets.
std::string without_parameters(std::string_view url) { return base::for_log(url.substr(0, url.find('?'))); }

}  // namespace

void Connection::on_connect(::rtmp::ConnectRequest request) {
    request_ = std::make_unique<Request>(Request::kConnect, std::move(request));
}

void Connection::on_publish(::rtmp::PublishRequest request) {
    request_ = std::make_unique<Request>(Request::kPublish);
    request_->publish = std::move(request);
}

void Connection::on_play(::rtmp::PlayRequest request) {
    request_ = std::make_unique<Request>(Request::kPlay);
    request_->play = std::move(request);
}

void Connection::decide() {
    std::unique_ptr<Request> request = std::move(request_);
    switch (request->what) {
        case Request::kConnect:
            return decide_connect(request->connect);
        case Request::kPublish:
            return decide_publish(request->publish);
        case Request::kPlay:
            return decide_play(request->play);
    }
}

void Connection::decide_connect(::rtmp::ConnectRequest& request) {
    work_->embryonic.reset();
    set_agent(request.flash_version);
    base::log::trace("RTMP connect: app {}, tcUrl {}, from {}, {}{}", without_parameters(request.app),
                     without_parameters(request.tc_url), work_->socket->peer_address(),
                     base::for_log(request.flash_version), work_->socket->is_tls() ? ", TLS" : "");
    const config::SnapshotPtr snapshot = service_.snapshot();
    ConnectFields fields{request.app,     request.tc_url,       request.page_url,
                         request.swf_url, request.forward_path, request.multitrack};
    auto named = resolve(fields.tc_url, fields.app, "-", *snapshot);  // the stream is not known yet
    const config::Vhost* vhost = named ? named->vhost : nullptr;
    if (vhost) fields.key_vhost = named->key.vhost;
    if (vhost) fields.key_app = named->key.app;
    client_ = ClientInfo(std::move(fields));
    const auto admitted_if_named = [&]() -> Result<net::Grant> {
        const ResolvedStream resolved = TRY(std::move(named));
        if (vhost) return admit_connect(resolved);
        // A stream may name another vhost, and is decided about when it does. Who will ask for none is told now.
        if (request.connect_only) return no_vhost(resolved);
        return net::Grant();
    };
    auto admitted = admitted_if_named();
    if (!admitted) {
        if (gave_up(admitted.error())) return;
        session_.refuse_connect("NetConnection.Connect.Rejected", admitted.error().text());
        return refuse("connect", admitted.error());
    }
    grant_ = *std::move(admitted);
    if (vhost) apply(*vhost);
    ::rtmp::ConnectOptions options;
    options.chunk_size = static_cast<uint32_t>(vhost ? vhost->chunk_size : snapshot->rtmp.chunk_size);
    if (vhost) options.out_ack_size = static_cast<uint32_t>(vhost->out_ack_size);
    if (vhost) options.in_ack_size = static_cast<uint32_t>(vhost->in_ack_size);
    options.id = id();
    session_.accept_connect(options);
}

void Connection::on_close_stream() {
    if (player_) {
        base::log::trace("RTMP play: {} closed by the player", stream_text());
        if (serving())
            player_.reset();
        else
            player_->close();
    } else {
        base::log::trace("RTMP publish: {} ended by the publisher", stream_text());
        publisher_.reset();
    }
    leave_stream();
    // It may begin another stream.
    if (serving()) work_->deadline = runtime::Deadline::in_ms(service_.snapshot()->rtmp.handshake_timeout);
}

// True: the connection ends, and there is no peer to notify of a refusal.
bool Connection::gave_up(const base::Error& error) {
    if (error.code() != Code::kCancelled) return false;
    const bool left = error.close_reason() == CloseReason::kPeerClosed;
    will_end(left ? error.text() : "the server stops", error.close_reason());
    return true;
}

// Ends the connection, giving the peer time to read the reason.
void Connection::refuse(std::string_view what, const base::Error& why) {
    std::string text = fmt::format("{} refused: {}", what, why.text());
    runtime::warn_some(service_.refusal_log(), "RTMP {}", text);
    work_->refused = true;
    will_end(text, why.close_reason());
}

Result<Connection::ResolvedStream> Connection::resolve(std::string_view tc_url, std::string_view app,
                                                       std::string_view name, const config::Snapshot& snapshot) {
    auto address = TRY(::rtmp::resolve_stream(tc_url, app, name, std::string(config::kDefaultVhost)));
    const config::Vhost* vhost = snapshot.vhost(address.vhost);
    live::StreamKey key{vhost ? vhost->name : std::string(), std::move(address.app), std::move(address.stream)};
    return ResolvedStream{vhost, std::move(key), std::move(address.vhost), std::move(address.params)};
}

std::unexpected<base::Error> Connection::no_vhost(const ResolvedStream& resolved) {
    return base::fail(CloseReason::kNotFound,
                      fmt::format("vhost {} does not exist or is disabled", base::for_log(resolved.named_vhost)));
}

Result<Connection::ResolvedStream> Connection::resolve_stream(std::string_view name, const config::Snapshot& snapshot) {
    auto resolved = TRY(resolve(client_.tc_url(), client_.app(), name, snapshot));
    if (!resolved.vhost) return no_vhost(resolved);
    client_.set_params(resolved.params);
    return resolved;
}

// The time that guards and look-ups take is not counted against the client.
void Connection::not_counting(int64_t waited_us) {
    work_->deadline = runtime::Deadline::at_us(work_->deadline.at_us() + waited_us);
}

Result<net::Grant> Connection::ask_gate(net::Visitor visitor, const config::Vhost& vhost) {
    if (peer_ == Peer::kOtherProcess) return net::Grant();
    visitor.id = id();
    visitor.ip = ip();
    visitor.page_url = client_.page_url();
    visitor.swf_url = client_.swf_url();
    if (agent()) visitor.user_agent = agent()->text();
    visitor.forward_path = client_.forward_path();
    const int64_t began_us = runtime::now_us();
    auto grant = service_.gate().admit(std::move(visitor), vhost, work_->socket.get());
    not_counting(runtime::now_us() - began_us);
    return grant;
}

// Yields if a guard does.
Result<net::Grant> Connection::admit(net::Action action, const ResolvedStream& resolved) {
    net::Visitor visitor;
    visitor.action = action;
    visitor.type = action == net::Action::kPlay ? net::SessionType::kRtmpPlay : type();
    visitor.vhost = resolved.key.vhost;
    visitor.app = resolved.key.app;
    visitor.stream = resolved.key.name;
    visitor.param = resolved.params;
    visitor.tc_url = client_.tc_url();
    return ask_gate(std::move(visitor), *resolved.vhost);
}

// A connect to the place's vhost and app. Yields if a guard does.
Result<net::Grant> Connection::admit_connect(const ResolvedStream& resolved) {
    net::Visitor visitor;
    visitor.action = net::Action::kConnect;
    visitor.type = type();
    visitor.vhost = resolved.key.vhost;
    visitor.app = resolved.key.app;
    visitor.param = resolved.params;
    visitor.tc_url = client_.tc_url();
    // One of a stream with another vhost or app: as a client would connect there.
    if (session_.connected()) visitor.tc_url = ::rtmp::tc_url_of(resolved.key.vhost, resolved.key.app, resolved.params);
    return ask_gate(std::move(visitor), *resolved.vhost);
}

// The connect that a stream's vhost and app need. It lasts as long as the stream is published or played.
Result<net::Grant> Connection::admit_key(const ResolvedStream& resolved) {
    if (client_.connected_to(resolved.key)) return net::Grant();
    auto grant = TRY(admit_connect(resolved));
    apply(*resolved.vhost);
    return grant;
}

void Connection::apply(const config::Vhost& vhost) {
    if (vhost.tcp_nodelay || vhost.min_latency) work_->socket->set_no_delay(true);
}

}  // namespace service::rtmp
