// A Connection that plays: parked, without a coroutine. Nothing here yields, except from_parked() and from_asking().

#include "base/log.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"
#include "service/rtmp/connection.h"
#include "service/rtmp/service.h"

namespace service::rtmp {

using base::CloseReason;
using base::Result;
using runtime::Deadline;

namespace {

constexpr size_t kMaxWaitingInput = 1u << 20;  // bytes read while a coroutine is about to take over
constexpr std::string_view kNoCoroutine = "no memory for a coroutine";

}  // namespace

// The session's pending output is sent before the stream.
void Connection::park() {
    const std::unique_ptr<Work> work = std::move(work_);
    enter(Phase::kParked);
    session_.shrink();
    if (!publishers_.empty() || players_.front()->needs_own_id()) share_socket(std::move(work->socket));
    join(*players_.front(), std::move(work->socket));
    for (const auto& publisher : publishers_) publisher->watch();
    note_unserved();
    if (!work->input.empty() && attached()) on_input(work->input);
}

// From now on several streams may use the socket, or one with its own message stream id. socket: null if its first
// player has it.
void Connection::share_socket(std::unique_ptr<runtime::ByteStream> socket) {
    if (shared_) return;
    shared_ = std::make_unique<SharedSocket>(static_cast<SharedSocketHandler&>(*this));
    std::vector<base::Slice> unsent;
    if (!socket) socket = players_.front()->viewer().exchange_socket(shared_->make_share(), unsent);
    shared_->take(std::move(socket), std::move(unsent));
}

// socket: null if it is shared.
void Connection::join(Player& player, std::unique_ptr<runtime::ByteStream> socket) {
    if (shared_) {
        send_output();
        return player.join(player.needs_own_id() ? shared_->make_share(player.stream_id(), player.chunk_size())
                                                 : shared_->make_share(),
                           {});
    }
    base::Slice first = base::Slice::copy(session_.take_output());
    player.join(std::move(socket), std::move(first));
}

Player* Connection::player(uint32_t stream_id) {
    for (const auto& player : players_)
        if (player->stream_id() == stream_id && !player->over()) return player.get();
    return nullptr;
}

// Whether it still has its socket.
bool Connection::attached() const { return shared_ ? !shared_->failed() : players_.front()->viewer().joined(); }

// Its only stream was closed by the peer: a coroutine handles what follows, perhaps a new play.
bool Connection::between_plays() const { return !shared_ && players_.front()->closed(); }

void Connection::send_output() {
    if (!session_.has_output()) return;
    base::Slice messages = base::Slice::copy(session_.take_output());
    if (shared_) return shared_->send(std::move(messages));
    players_.front()->viewer().send_control(std::move(messages));
}

void Connection::on_shared_input(std::span<const uint8_t> bytes) { on_input(bytes); }

void Connection::on_input(std::span<const uint8_t> bytes) {
    runtime::ContextScope scope(id());
    if (input_waits(phase_)) {
        if (work_->input.size() + bytes.size() > kMaxWaitingInput)
            return end_parked("too much input at once", CloseReason::kFlood);
        work_->input.insert(work_->input.end(), bytes.begin(), bytes.end());
        if (auto counted = count_memory(); !counted) end_parked(counted.error().text(), CloseReason::kFlood);
        return;
    }
    const size_t received = bytes.size();
    int64_t began_us = 0;
    while ((!bytes.empty() || session_.has_backlog()) && attached() && !between_plays()) {
        auto taken = session_.feed(bytes);
        if (!taken) return end_parked(taken.error().text(), taken.error().close_reason());
        bytes = bytes.subspan(*taken);
        // A further publish or play on this connection does not yield, unless a guard is asked.
        if (request_ && attached() && !between_plays()) {
            if (must_wait()) return ask(bytes);
            decide();
        }
        send_output();
        if (publishers_.empty() || (bytes.empty() && !session_.has_backlog())) continue;
        const int64_t now_us = runtime::now_us();
        if (began_us == 0) began_us = now_us;
        if (runtime::slice_is_over(now_us - began_us)) return ask(bytes);
    }
    if (auto counted = count_memory(); !counted) return end_parked(counted.error().text(), CloseReason::kFlood);
    if (!publishers_.empty()) {
        int64_t now = runtime::now_us();
        for (const auto& publisher : publishers_) publisher->after_read(now, received);
    }
    if (!attached() || !between_plays()) return;
    if (!spawn(Phase::kResuming, bytes)) end_parked(kNoCoroutine, CloseReason::kSystemError);
}

// Starts a coroutine for kAsking or kResuming. input: for that coroutine. False: there was none, and it stays parked.
bool Connection::spawn(Phase next, std::span<const uint8_t> input) {
    auto work = std::make_unique<Work>();
    work->input.assign(input.begin(), input.end());
    work->task = next == Phase::kAsking ? runtime::spawn("rtmp-ask", [this] { run(&Connection::from_asking); })
                                        : runtime::spawn("rtmp", [this] { run(&Connection::from_parked); });
    if (!work->task) return false;
    work_ = std::move(work);
    enter(next);
    return true;
}

// A guard has to be asked, which takes time, or there is more input than can be processed at once. Its players continue
// meanwhile.
void Connection::ask(std::span<const uint8_t> rest) {
    share_socket(nullptr);  // the end of its plays must not end the connection
    if (!spawn(Phase::kAsking, rest)) end_parked(kNoCoroutine, CloseReason::kSystemError);
}

Result<void> Connection::from_asking() {
    if (request_) {
        decide();
    } else {
        (void)runtime::yield();
    }
    if (!players_.empty()) {
        const std::unique_ptr<Work> work = std::move(work_);
        enter(Phase::kParked);
        send_output();
        note_unserved();
        if (!work->input.empty() && attached()) on_input(work->input);
        return {};
    }
    // All of its plays have ended meanwhile.
    if (shared_->failed()) {
        publishers_.clear();
        finish(shared_->why(), shared_->reason());
        return {};
    }
    work_->refused = publishers_.empty();
    if (publishers_.empty()) will_end("what it played has ended", CloseReason::kStreamEnded);
    TRY(take_socket_back());
    return serve();
}

Result<void> Connection::from_parked() {
    if (phase_ == Phase::kEnded) return {};  // its player ended before this coroutine ran
    if (!shared_ && !attached()) {           // the socket failed, and on_player_end follows
        work_.reset();
        enter(Phase::kParked);
        return {};
    }
    TRY(take_socket_back());
    return serve();
}

// From kAsking or kResuming to kServing. Its players have ended, or one is left, which the peer has closed.
Result<void> Connection::take_socket_back() {
    std::vector<base::Slice> unsent;
    if (shared_) {
        if (shared_->failed())
            return std::unexpected(base::Error(base::Code::kClosed, shared_->why()).because(shared_->reason()));
        received_bytes_ += shared_->received_bytes();
        sent_bytes_ += shared_->sent_control_bytes();
        work_->socket = shared_->release(unsent);
        shared_.reset();
    } else {
        work_->socket = players_.front()->viewer().leave(unsent);
        count(*players_.front());
        players_.clear();
    }
    enter(Phase::kServing);
    work_->deadline = Deadline::in_ms(service_.snapshot()->rtmp.handshake_timeout);
    for (const base::Slice& slice : unsent) {
        TRY(work_->socket->write(slice, work_->deadline), "writing");
        sent_bytes_ += slice.size();
    }
    return {};
}

void Connection::count(const Player& player) {
    received_bytes_ += player.viewer().counters().received_bytes;
    sent_bytes_ += player.viewer().counters().sent_bytes;
}

void Connection::on_play_over(Player& player) {
    runtime::ContextScope scope(id());
    if (player.closed()) return;
    session_.end_play(player.stream_id());
    send_output();
}

// Ends all of it soon: on_player_end follows for each player.
void Connection::end_parked(std::string_view why, CloseReason reason) {
    note_reason(reason);
    if (shared_) shared_->fail(why, reason);
    if (work_) work_->end_reason = why;
    for (const auto& player : players_) player->viewer().abort(why, reason);
}

void Connection::on_shared_end(std::string_view why) {
    runtime::ContextScope scope(id());
    end_parked(why, shared_->reason());
    if (asking() && players_.empty()) work_->task.cancel();
}

void Connection::on_player_end(Player& player, std::string_view why) {
    runtime::ContextScope scope(id());
    bool by_peer = player.closed();
    const CloseReason reason = player.viewer().close_reason();
    if (shared_ && !player.over()) end_parked(why, reason);
    const std::string text = player.viewer().end_text(why);
    if (shared_ && !by_peer) base::log::trace("RTMP play: {} ended, {}", player.key().text(), text);
    count(player);
    std::erase_if(players_, [&](const auto& p) { return p.get() == &player; });
    if (!players_.empty()) return;
    if (asking()) {  // its coroutine handles the rest
        if (shared_->failed()) work_->task.cancel();
        return;
    }
    if (shared_ && !shared_->failed()) {
        // Another stream may begin on it; but if the last stream has ended by itself, the connection ends too.
        const bool goes_on = by_peer || !publishers_.empty();
        if (spawn(Phase::kResuming, {})) {
            if (!goes_on) will_end(why, reason);
            return;
        }
        note_reason(goes_on ? CloseReason::kSystemError : reason);
        shared_->fail(kNoCoroutine, CloseReason::kSystemError);
    }
    publishers_.clear();
    const bool resuming = phase_ == Phase::kResuming;
    finish(shared_ ? shared_->why() : text, shared_ ? shared_->reason() : reason);
    if (!resuming) service_.remove(*this);  // else its coroutine does that
}

}  // namespace service::rtmp
