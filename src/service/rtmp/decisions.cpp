// A Connection's decisions about connect, publish and play, and its reactions when the peer ends or pauses them.

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/text.h"
#include "protocol/http/via.h"
#include "runtime/loop/clock.h"
#include "service/relay/path.h"
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

// Ends the connection, giving the peer time to read the reason.
void Connection::refuse(std::string_view what, const base::Error& why) {
    std::string text = fmt::format("{} refused: {}", what, why.text());
    runtime::warn_some(service_.refusal_log(), "RTMP {}", text);
    work_->refused = true;
    will_end(text, why.close_reason());
}

// True: the connection ends, and there is no peer to notify of a refusal.
bool Connection::gave_up(const base::Error& error) {
    if (error.code() != Code::kCancelled) return false;
    const bool left = error.close_reason() == CloseReason::kPeerClosed;
    will_end(left ? error.text() : "the server stops", error.close_reason());
    return true;
}

void Connection::decide_connect(::rtmp::ConnectRequest& request) {
    work_->embryonic.reset();
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
        const Place place = TRY(std::move(named));
        if (vhost) return admit_connect(place);
        // A stream may name another vhost, and is decided about when it does. Who will ask for none is told now.
        if (request.connect_only) return no_vhost(place);
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

// A forwarding server names the servers of our kind that the stream has passed through.
bool Connection::came_from_here() const {
    return http::has_passed(client_.forward_path(), service_.registry().instance());
}

// For a player that is another server of our kind: the servers that the stream has passed, with this one. Others are
// told nothing.
std::string Connection::path_for_peer() const {
    return client_.forward_path().empty() ? std::string() : relay::path_through(*stream_, service_.registry());
}

void Connection::decide_publish(const ::rtmp::PublishRequest& request) {
    const config::SnapshotPtr snapshot = service_.snapshot();
    auto refused = [&](const base::Error& error, std::string_view code = "NetStream.Publish.BadName") {
        session_.refuse_publish(code, error.text());
        return refuse("publish", error);
    };
    auto place = resolve_stream(request.name, *snapshot);
    if (!place) return refused(place.error());
    const live::StreamKey& key = place->key;
    const config::Vhost* vhost = place->vhost;
    if (came_from_here())
        return refused(base::Error(Code::kRefused,
                                   fmt::format("{} was forwarded by this server and has come back to it", key.text())),
                       ::rtmp::kForwardLoop);
    set_type(session_type(request.style));
    auto connected = admit_key(*place);
    if (!connected) return gave_up(connected.error()) ? void() : refused(connected.error());
    stream_ = service_.registry().find_or_create(key, live::live_options(*vhost));
    // No guard is asked if the name is in use anyway.
    if (auto free = stream_->check_free(vhost->publish.takeover, live::standby_options(*vhost)); !free)
        return refused(free.error());
    auto grant = admit(net::Action::kPublish, *place);
    if (!grant) return gave_up(grant.error()) ? void() : refused(grant.error());
    grant->hold(*std::move(connected));
    auto publisher = std::make_unique<Publisher>(*this, snapshot, *vhost, runtime::now_us());
    publisher->keep(*std::move(grant));
    if (auto acquired = publisher->acquire(*stream_); !acquired) return refused(acquired.error());
    publisher_ = std::move(publisher);
    enter_stream(key, true);
    session_.accept_publish();
    base::log::trace("RTMP publish: {}, {}, from {}{}", stream_->key().text(), session_type_name(type()), ip(),
                     publisher_->waits() ? ", as a standby" : "");
}

void Connection::decide_play(const ::rtmp::PlayRequest& request) {
    const config::SnapshotPtr snapshot = service_.snapshot();
    auto refused = [&](const base::Error& why) {
        session_.refuse_play("NetStream.Play.Failed", why.text());
        return refuse("play", why);
    };
    auto place = resolve_stream(request.name, *snapshot);
    if (!place) return refused(place.error());
    const live::StreamKey& key = place->key;
    if (const std::string url = redirection(*place); !url.empty()) {
        session_.redirect_play(url);
        return refuse("play", base::Error(Code::kRefused, "the stream is at " + without_parameters(url)));
    }
    auto connected = admit_key(*place);
    if (!connected) return gave_up(connected.error()) ? void() : refused(connected.error());
    auto grant = admit(net::Action::kPlay, *place);
    if (!grant) return gave_up(grant.error()) ? void() : refused(grant.error());
    grant->hold(*std::move(connected));
    set_type(net::SessionType::kRtmpPlay);
    enter_stream(key, false);
    stream_ = service_.registry().find_or_create(key, live::live_options(*place->vhost));
    session_.accept_play(request.reset, path_for_peer());
    base::log::trace("RTMP play: {}, from {}{}", stream_->key().text(), ip(),
                     stream_->published() ? "" : ", not published yet");
    player_ = std::make_unique<Player>(*this, stream_, session_.out_chunk_size(), client_.wants_all_tracks(),
                                       duration_ms(request), *std::move(grant));
}

Result<void> Connection::on_media(::rtmp::Message& message) {
    publisher_->on_media(message);
    return {};
}

// Nobody looks at those of players.
void Connection::on_dropped(const base::Error& error) {
    if (publisher_) publisher_->on_dropped(error);
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

void Connection::on_pause(bool paused) {
    if (player_->over()) return;
    send_output();  // the answer must be sent before its consequences
    player_->set_paused(paused);
    note_unserved();
}

void Connection::on_receive(media::Kind kind, bool wanted) {
    if (player_->over()) return;
    player_->receive(kind, wanted);
    note_unserved();
}

}  // namespace service::rtmp
