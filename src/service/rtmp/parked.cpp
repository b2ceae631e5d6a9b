// A Connection that plays: parked, without a coroutine. Nothing here yields, except from_parked().

#include "base/log.h"
#include "runtime/loop/clock.h"
#include "service/rtmp/connection.h"
#include "service/rtmp/service.h"

namespace service::rtmp {

using base::CloseReason;
using base::Result;
using runtime::Deadline;

// The session's pending output is sent before the stream.
void Connection::park() {
    const std::unique_ptr<Work> work = std::move(work_);
    enter(Phase::kParked);
    session_.shrink();
    player_->join(std::move(work->socket), base::Slice::copy(session_.take_output()));
    note_unserved();
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
    player_.reset();
    finish(text, reason);
    service_.remove(*this);
}

}  // namespace service::rtmp
