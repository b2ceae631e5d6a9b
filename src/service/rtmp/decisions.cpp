// A Connection's decisions about connect, publish and play, and its reactions when the peer ends or pauses them.

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/text.h"
#include "net/access/access_rules.h"
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

net::SessionType session_type(::rtmp::PublishStyle style) {
    switch (style) {
        case ::rtmp::PublishStyle::kFmle:
            return net::SessionType::kFmlePublish;
        case ::rtmp::PublishStyle::kHaivision:
            return net::SessionType::kHaivisionPublish;
        case ::rtmp::PublishStyle::kFlash:
            break;
    }
    return net::SessionType::kFlashPublish;
}

// Includes players whose last bytes have not been sent yet.
constexpr size_t kMaxPlayers = ::rtmp::ServerSession::kMaxStreams;

// Clients send ms, as Flash did, though the specification says seconds. A client that sends the specification's -2
// (live or recorded) or -1 (live) as start, rather than -2000 or -1000, means seconds.
uint32_t duration_ms(const ::rtmp::PlayRequest& request) {
    bool seconds = request.start_ms == -1 || request.start_ms == -2;
    double ms = request.duration_ms * (seconds ? 1000 : 1);
    return ms > 0 && ms < 1e9 ? static_cast<uint32_t>(std::max(1.0, ms)) : 0;
}

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

// Ends the connection, giving the peer time to read the reason; other streams on the connection are not disturbed.
void Connection::refuse(std::string_view what, const base::Error& why) {
    std::string text = fmt::format("{} refused: {}", what, why.text());
    runtime::warn_some(service_.refusal_log(), "RTMP {}", text);
    if (!serving() || active()) return;
    work_->refused = true;
    will_end(text, why.close_reason());
}

// The vhost lives as long as the snapshot.
Result<live::StreamKey> Connection::resolve(std::string_view name, const config::Snapshot& snapshot,
                                            const config::Vhost*& vhost) {
    auto address =
        TRY(::rtmp::resolve_stream(client_.tc_url(), client_.app(), name, std::string(config::kDefaultVhost)));
    vhost = snapshot.vhost(address.vhost);
    if (!vhost)
        return base::fail(CloseReason::kNotFound,
                          fmt::format("vhost {} is not there or disabled", base::for_log(address.vhost)));
    client_.set_params(address.params);
    return live::StreamKey{vhost->name, std::move(address.app), std::move(address.stream)};
}

// Whether the request has to wait for a guard.
bool Connection::must_wait() {
    if (request_->what == Request::kConnect) return false;  // already done if there are players
    bool publish = request_->what == Request::kPublish;
    const config::SnapshotPtr snapshot = service_.snapshot();
    const config::Vhost* vhost = nullptr;
    if (!resolve(publish ? request_->publish.name : request_->play.name, *snapshot, vhost)) return false;
    if (!publish && service_.locator() && service_.locator()->redirects(*vhost, false)) return true;
    return service_.gate().may_yield(publish ? net::Action::kPublish : net::Action::kPlay, *vhost);
}

// The time that guards and look-ups take is not counted against the client.
void Connection::not_counting(int64_t waited_us) {
    if (serving()) work_->deadline = runtime::Deadline::at_us(work_->deadline.at_us() + waited_us);
    for (const auto& publisher : publishers_) publisher->postpone(waited_us);
}

// The URL of the stream at another server, to which its players are sent; empty: it is played here. The hooks of this
// server are not asked about such a player, those of the other one are. Yields if there is a look-up.
std::string Connection::redirection(const live::StreamKey& key, const config::Vhost& vhost) {
    Locator* locator = service_.locator();
    if (!locator || !locator->redirects(vhost, false) || !net::check_play(vhost, ip(), client_.page_url())) return {};
    const int64_t began_us = runtime::now_us();
    const std::string server = locator->redirect(key, false);
    not_counting(runtime::now_us() - began_us);
    return server.empty() ? std::string() : rtmp_redirect(server, key, client_.params());
}

// Yields if a guard does.
Result<net::Grant> Connection::admit(net::Action action, const live::StreamKey& key, const config::Vhost& vhost) {
    net::Visitor visitor;
    visitor.action = action;
    visitor.type = action == net::Action::kPlay ? net::SessionType::kRtmpPlay : type();
    visitor.id = id();
    visitor.ip = ip();
    visitor.vhost = key.vhost;
    visitor.app = key.app;
    visitor.stream = key.name;
    visitor.param = client_.params();
    visitor.tc_url = client_.tc_url();
    visitor.page_url = client_.page_url();
    visitor.swf_url = client_.swf_url();
    visitor.forward_path = client_.forward_path();
    const int64_t began_us = runtime::now_us();
    auto grant = service_.gate().admit(std::move(visitor), vhost, serving() ? work_->socket.get() : nullptr);
    not_counting(runtime::now_us() - began_us);
    if (grant && asking() && shared_->failed()) return base::fail(Code::kCancelled, shared_->why());
    return grant;
}

// True: the connection ends, and there is no peer to notify of a refusal.
bool Connection::gave_up(const base::Error& error) {
    if (error.code() != Code::kCancelled) return false;
    const bool left = error.close_reason() == CloseReason::kPeerClosed;
    if (serving()) will_end(left ? error.text() : "the server stops", error.close_reason());
    return true;
}

void Connection::decide_connect(::rtmp::ConnectRequest& request) {
    work_->newcomer.reset();
    base::log::trace("RTMP connect: app {}, tcUrl {}, from {}, {}{}", without_parameters(request.app),
                     without_parameters(request.tc_url), work_->socket->peer_address(),
                     base::for_log(request.flash_version), work_->socket->is_tls() ? ", TLS" : "");
    client_ = ClientInfo(
        {request.app, request.tc_url, request.page_url, request.swf_url, request.forward_path, request.multitrack});
    const config::SnapshotPtr snapshot = service_.snapshot();
    const config::Vhost* vhost = nullptr;
    auto key = resolve("-", *snapshot, vhost);  // the stream is not known yet; app and vhost are
    if (!key) {
        session_.refuse_connect("NetConnection.Connect.Rejected", key.error().text());
        return refuse("connect", key.error());
    }
    key->name.clear();
    auto grant = admit(net::Action::kConnect, *key, *vhost);
    if (!grant) {
        if (gave_up(grant.error())) return;
        session_.refuse_connect("NetConnection.Connect.Rejected", grant.error().text());
        return refuse("connect", grant.error());
    }
    grant_ = *std::move(grant);
    if (vhost->tcp_nodelay || vhost->min_latency) work_->socket->set_no_delay(true);
    ::rtmp::ConnectOptions options;
    options.chunk_size = static_cast<uint32_t>(vhost->chunk_size);
    options.out_ack_size = static_cast<uint32_t>(vhost->out_ack_size);
    options.in_ack_size = static_cast<uint32_t>(vhost->in_ack_size);
    options.id = id();
    session_.accept_connect(options);
}

// A forwarding server names the servers of our kind that the stream has passed through.
bool Connection::came_from_here() const {
    return client_.forward_path().find(service_.registry().instance()) != std::string_view::npos;
}

// For a player that is another server of our kind: the servers that the stream has passed, with this one. Others are
// told nothing.
std::string Connection::path_for_peer() const {
    if (client_.forward_path().empty()) return {};
    const live::PublicationOwner* publisher = stream_->publisher();
    const std::string before = publisher ? publisher->facts().forward_path : std::string();
    return before + (before.empty() ? "" : ",") + service_.registry().instance();
}

void Connection::decide_publish(const ::rtmp::PublishRequest& request) {
    const config::SnapshotPtr snapshot = service_.snapshot();
    const config::Vhost* vhost = nullptr;
    auto refused = [&](const base::Error& error, std::string_view code = "NetStream.Publish.BadName") {
        session_.refuse_publish(request.stream_id, code, error.text());
        return refuse("publish", error);
    };
    auto key = resolve(request.name, *snapshot, vhost);
    if (!key) return refused(key.error());
    if (came_from_here())
        return refused(base::Error(Code::kRefused,
                                   fmt::format("{} was forwarded by this server and has come back to it", key->text())),
                       ::rtmp::kForwardLoop);
    set_type(session_type(request.style));
    stream_ = service_.registry().find_or_create(*key, live::live_options(*vhost));
    // No guard is asked if the name is in use anyway.
    if (auto free = stream_->check_free(vhost->publish.takeover, live::standby_options(*vhost)); !free)
        return refused(free.error());
    auto grant = admit(net::Action::kPublish, *key, *vhost);
    if (!grant) return gave_up(grant.error()) ? void() : refused(grant.error());
    auto publisher = std::make_unique<Publisher>(*this, request.stream_id, snapshot, *vhost, runtime::now_us());
    publisher->keep(*std::move(grant));
    if (auto acquired = publisher->acquire(*stream_); !acquired) return refused(acquired.error());
    publishers_.push_back(std::move(publisher));
    enter_stream(*key, true);
    if (!serving()) {
        share_socket(nullptr);  // the end of its plays must not end the publishing
        publishers_.back()->watch();
    }
    session_.accept_publish(request.stream_id);
    base::log::trace("RTMP publish: {}, {}, from {}{}", stream_->key().text(), session_type_name(type()), ip(),
                     publishers_.back()->waits() ? ", as a standby" : "");
}

void Connection::decide_play(const ::rtmp::PlayRequest& request) {
    const config::SnapshotPtr snapshot = service_.snapshot();
    const config::Vhost* vhost = nullptr;
    auto refused = [&](const base::Error& why) {
        session_.refuse_play(request.stream_id, "NetStream.Play.Failed", why.text());
        return refuse("play", why);
    };
    auto key = resolve(request.name, *snapshot, vhost);
    if (!key) return refused(key.error());
    if (players_.size() >= kMaxPlayers)
        return refused(base::Error(
            Code::kLimit, fmt::format("{} streams are played already, or not yet quite ended", players_.size())));
    if (const std::string url = redirection(*key, *vhost); !url.empty()) {
        session_.redirect_play(request.stream_id, url);
        return refuse("play", base::Error(Code::kRefused, "the stream is at " + without_parameters(url)));
    }
    auto grant = admit(net::Action::kPlay, *key, *vhost);
    if (!grant) return gave_up(grant.error()) ? void() : refused(grant.error());
    if (publishers_.empty()) {
        set_type(net::SessionType::kRtmpPlay);
        enter_stream(*key, false);
    }
    stream_ = service_.registry().find_or_create(*key, live::live_options(*vhost));
    session_.accept_play(request.stream_id, request.reset, path_for_peer());
    base::log::trace("RTMP play: {}, from {}{}", stream_->key().text(), ip(),
                     stream_->published() ? "" : ", not published yet");
    players_.push_back(std::make_unique<Player>(*this, stream_, request.stream_id, session_.out_chunk_size(),
                                                client_.wants_all_tracks(), duration_ms(request), *std::move(grant)));
    if (serving()) return;  // its coroutine parks it
    Player& player = *players_.back();
    share_socket(nullptr);
    join(player, nullptr);
}

Result<void> Connection::on_media(uint32_t stream_id, ::rtmp::Message& message) {
    for (const auto& publisher : publishers_)
        if (publisher->stream_id() == stream_id) return publisher->on_media(message);
    return {};
}

void Connection::on_close_stream(uint32_t stream_id) {
    if (Player* p = player(stream_id)) {
        base::log::trace("RTMP play: {} closed by the player", p->key().text());
        p->close();
        if (shared_) p->viewer().finish("closed by the player", CloseReason::kPeerClosed);
    } else {
        size_t ended = std::erase_if(publishers_, [&](const auto& p) { return p->stream_id() == stream_id; });
        if (ended) base::log::trace("RTMP publish: {} ended by the publisher", stream_text());
    }
    if (active()) return;
    leave_stream();
    // It may begin another stream.
    if (serving()) work_->deadline = runtime::Deadline::in_ms(service_.snapshot()->rtmp.handshake_timeout);
}

void Connection::on_pause(uint32_t stream_id, bool paused) {
    Player* p = player(stream_id);
    if (!p) return;
    send_output();  // the answer must be sent before its consequences
    p->viewer().set_paused(paused);
}

void Connection::on_receive(uint32_t stream_id, media::Kind kind, bool wanted) {
    if (Player* p = player(stream_id)) p->receive(kind, wanted);
}

}  // namespace service::rtmp
