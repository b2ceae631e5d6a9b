// A Connection that plays. The request may ask guards, which yield. Then it is parked, without a coroutine, until the
// end of its play: nothing yields there, except from_parked().

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/text.h"
#include "net/access/access_rules.h"
#include "runtime/loop/clock.h"
#include "service/relay/path.h"
#include "service/rtmp/connection.h"
#include "service/rtmp/service.h"

namespace service::rtmp {

using base::CloseReason;
using base::Code;
using base::Result;
using runtime::Deadline;

namespace {

// Clients send ms, as Flash did, though the specification says seconds. A client that sends the specification's -2
// (live or recorded) or -1 (live) as start, rather than -2000 or -1000, means seconds.
uint32_t duration_ms(const ::rtmp::PlayRequest& request) {
    bool seconds = request.start_ms == -1 || request.start_ms == -2;
    double ms = request.duration_ms * (seconds ? 1000 : 1);
    return ms > 0 && ms < 1e9 ? static_cast<uint32_t>(std::max(1.0, ms)) : 0;
}

}  // namespace

// The URL of the stream at another server, to which its players are sent; empty: it is played here. The hooks of this
// server are not asked about such a player, those of the other one are. Yields if there is a look-up.
std::string Connection::redirection(const ResolvedStream& resolved) {
    Locator* locator = peer_ == Peer::kClient ? service_.locator() : nullptr;
    if (!locator || !locator->redirects(*resolved.vhost, false) ||
        !net::check_play(*resolved.vhost, ip(), client_.page_url()))
        return {};
    const int64_t began_us = runtime::now_us();
    const std::string server = locator->redirect(resolved.key, false);
    not_counting(runtime::now_us() - began_us);
    return server.empty() ? std::string() : rtmp_redirect(server, resolved.key, client_.params());
}

// For a player that is another server of our kind: the servers that the stream has passed, with this one. Others are
// told nothing.
std::string Connection::path_for_peer() const {
    return client_.forward_path().empty() ? std::string() : relay::path_through(*stream_, service_.registry());
}

void Connection::decide_play(const ::rtmp::PlayRequest& request) {
    const config::SnapshotPtr snapshot = service_.snapshot();
    auto refused = [&](const base::Error& why) {
        session_.refuse_play("NetStream.Play.Failed", why.text());
        return refuse("play", why);
    };
    auto resolved = resolve_stream(request.name, *snapshot);
    if (!resolved) return refused(resolved.error());
    const live::StreamKey& key = resolved->key;
    if (const std::string url = redirection(*resolved); !url.empty()) {
        session_.redirect_play(url);
        return refuse("play",
                      base::Error(Code::kRefused, "the stream is at " + base::for_log(url.substr(0, url.find('?')))));
    }
    auto connected = admit_key(*resolved);
    if (!connected) return gave_up(connected.error()) ? void() : refused(connected.error());
    auto grant = admit(net::Action::kPlay, *resolved);
    if (!grant) return gave_up(grant.error()) ? void() : refused(grant.error());
    grant->hold(*std::move(connected));
    set_type(net::SessionType::kRtmpPlay);
    enter_stream(key, false);
    stream_ = service_.registry().find_or_create(key, live::live_options(*resolved->vhost));
    session_.accept_play(request.reset, path_for_peer());
    base::log::trace("RTMP play: {}, from {}{}", stream_->key().text(), ip(),
                     stream_->published() ? "" : ", not published yet");
    player_ = std::make_unique<Player>(*this, stream_, session_.out_chunk_size(), client_.wants_all_tracks(),
                                       duration_ms(request), *std::move(grant));
    if (is_with_other_process()) player_->set_lease(live::CopyLease(stream_));
}

void Connection::on_pause(bool paused) {
    if (player_->over()) return;
    send_output();  // the answer must be sent before its consequences
    player_->set_paused(paused);
    record_unserved();
}

void Connection::on_receive(media::Kind kind, bool wanted) {
    if (player_->over()) return;
    player_->receive(kind, wanted);
    record_unserved();
}

// The session's pending output is sent before the stream.
void Connection::park() {
    const std::unique_ptr<Work> work = std::move(work_);
    enter(Phase::kParked);
    session_.shrink();
    player_->join(std::move(work->socket), base::Slice::copy(session_.take_output()));
    record_unserved();
}

// Before it is parked its coroutine sends.
void Connection::send_output() {
    if (phase_ == Phase::kParked && session_.has_output())
        player_->viewer().send_control(base::Slice::copy(session_.take_output()));
}

void Connection::on_input(std::span<const uint8_t> bytes) {
    runtime::ContextScope scope(id());
    // A request that comes when the play is over is not decided: the connection ends when the player was sent the rest.
    while (!bytes.empty() && player_->viewer().joined() && !session_.deciding()) {
        const auto taken = session_.feed(bytes);
        if (!taken) return player_->viewer().abort(taken.error().text(), taken.error().close_reason());
        bytes = bytes.subspan(*taken);
        if (player_->closed()) return resume(bytes);
        send_output();
    }
    if (auto counted = count_memory(); !counted) player_->viewer().abort(counted.error().text(), CloseReason::kFlood);
}

// The peer closed its play: a coroutine handles what follows, perhaps another one.
void Connection::resume(std::span<const uint8_t> rest) {
    live::Viewer& viewer = player_->viewer();
    if (!viewer.joined()) return;  // its end follows
    auto work = std::make_unique<Work>();
    work->task = runtime::spawn("rtmp", [this] { run(&Connection::from_parked); });
    if (!work->task) return viewer.abort("no memory for a coroutine", CloseReason::kSystemError);
    work->socket = viewer.leave(work->unsent);
    work->input.assign(rest.begin(), rest.end());
    work->deadline = Deadline::in_ms(service_.snapshot()->rtmp.handshake_timeout);
    count_traffic(*player_);
    keep_figures();
    work->former = std::move(player_);
    work_ = std::move(work);
    enter(Phase::kServing);
}

Result<void> Connection::from_parked() {
    work_->former.reset();
    for (const base::Slice& slice : std::exchange(work_->unsent, {})) {
        TRY(work_->socket->write(slice, work_->deadline), "writing");
        sent_bytes_ += slice.size();
    }
    return serve();
}

void Connection::count_traffic(const Player& player) {
    received_bytes_ += player.viewer().counters().received_bytes;
    sent_bytes_ += player.viewer().counters().sent_bytes;
}

void Connection::on_play_over() {
    runtime::ContextScope scope(id());
    session_.end_play();
    send_output();
}

void Connection::on_player_end(std::string_view why) {
    runtime::ContextScope scope(id());
    const CloseReason reason = player_->viewer().close_reason();
    const std::string text = player_->viewer().end_text(why);
    count_traffic(*player_);
    keep_figures();
    player_.reset();
    finish(text, reason);
    service_.remove(*this);
}

bool Connection::is_unserved() const { return phase_ == Phase::kParked && player_->unserved(); }

}  // namespace service::rtmp
