// A Connection that plays: parked, without a coroutine. Nothing here yields, but for from_parked().

#include "base/log.h"
#include "service/rtmp/connection.h"
#include "service/rtmp/encoder.h"
#include "service/rtmp/service.h"

namespace service::rtmp {

using runtime::Deadline;

namespace {

constexpr size_t kMaxWaitingInput = 1u << 20;  // bytes read while a coroutine is to take over

}  // namespace

live::LogKey Connection::log_key() const {
    return EncoderParameters{session_.out_chunk_size(), playing_, wants_audio_, wants_video_}.key();
}

// What the session still has to say goes out before the stream.
void Connection::park() {
    std::vector<uint8_t> input = std::move(work_->input);
    work_.reset();
    task_ = runtime::Task();  // its end frees it
    session_.shrink();
    base::Slice first = base::Slice::copy(session_.output());
    session_.output() = {};
    viewer_.join(played_, log_key(), &make_encoder, std::move(socket_), std::move(first), duration_ms_);
    for (const auto& publisher : publishers_) publisher->watch();
    if (!input.empty() && viewer_.joined()) on_viewer_input(viewer_, input);
}

void Connection::send_output() {
    if (session_.output().empty()) return;
    viewer_.send_control(base::Slice::copy(session_.output()));
    session_.output() = {};
}

void Connection::on_viewer_input(live::Viewer&, std::span<const uint8_t> bytes) {
    runtime::ContextScope scope(id());
    if (resuming_) {
        if (work_->input.size() + bytes.size() > kMaxWaitingInput) return viewer_.abort("too much input at once");
        work_->input.insert(work_->input.end(), bytes.begin(), bytes.end());
        return;
    }
    while (!bytes.empty() && viewer_.joined() && playing_) {
        auto taken = session_.feed(bytes);
        if (!taken) return viewer_.abort(taken.error().text());
        bytes = bytes.subspan(*taken);
        // Publishing beside it, and a second play, which is refused, need nothing that yields.
        if (request_ && playing_) decide();
        send_output();
    }
    if (!publishers_.empty()) {
        int64_t now = base::monotonic_us();
        for (const auto& publisher : publishers_) publisher->after_read(now);
    }
    if (playing_ || !viewer_.joined()) return;
    // Nothing is played any more: the rest, perhaps a new play, is a coroutine's business.
    work_ = std::make_unique<Work>();
    work_->input.assign(bytes.begin(), bytes.end());
    resume();
}

void Connection::resume() {
    resuming_ = true;
    task_ = runtime::spawn("rtmp", [this] { run(&Connection::from_parked); });
}

Connection::Outcome Connection::from_parked() {
    resuming_ = false;
    if (viewer_ended_) return Outcome::kEnded;
    if (!viewer_.joined()) {  // it died, and on_viewer_end is on its way
        work_.reset();
        return Outcome::kParked;
    }
    std::vector<base::Slice> unsent;
    socket_ = viewer_.leave(unsent);
    work_->deadline = Deadline::in_ms(service_.snapshot()->rtmp.handshake_timeout);
    for (const base::Slice& slice : unsent)
        if (auto sent = socket_->write(slice, work_->deadline); !sent) return end(why_ended(sent.error()));
    auto outcome = serve();
    return outcome ? *outcome : end(why_ended(outcome.error()));
}

void Connection::on_stream_end(live::Viewer&) {
    runtime::ContextScope scope(id());
    if (playing_) session_.end_play(playing_);
    playing_ = 0;
    send_output();
}

void Connection::on_viewer_end(live::Viewer&, std::string_view why) {
    runtime::ContextScope scope(id());
    publishers_.clear();
    log_end(why);
    if (resuming_) {
        viewer_ended_ = true;
        return;
    }
    service_.remove(*this);
}

}  // namespace service::rtmp
