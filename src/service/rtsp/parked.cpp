// A Connection that plays: parked, without a coroutine. Nothing here yields.

#include "base/log.h"
#include "service/rtsp/connection.h"
#include "service/rtsp/service.h"

namespace service::rtsp {

using base::CloseReason;

// response: of PLAY, which is sent before the stream.
void Connection::park(const Message& response) {
    const live::LogKey key = play_key().log_key();
    set_type(rtsp_play_type());
    enter_stream(stream_->key(), false);
    base::log::trace("RTSP play: {}, interleaved, from {}", stream_text(), ip());
    viewer_.emplace(static_cast<live::ViewerHandler&>(*this), stream_);
    viewer_->join(key, std::move(work_->socket), base::Slice::copy(::rtsp::write(response)));
    work_.reset();
}

void Connection::on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) {
    runtime::ContextScope scope(id());
    while (viewer.joined()) {
        size_t used = 0;
        const auto step = reader_.feed(bytes, used);
        bytes = bytes.subspan(used);
        if (step == ::rtsp::Reader::Step::kNeedMore) return;
        if (step == ::rtsp::Reader::Step::kError)
            return viewer.abort(reader_.error_text(), CloseReason::kProtocolError);
        if (step == ::rtsp::Reader::Step::kInterleaved) continue;  // receiver reports: over TCP nothing is lost
        const Message request = reader_.take_message();
        if (request.is_request) on_request(request);
    }
}

void Connection::on_request(const Message& request) {
    const auto before = session_.state();
    const Message response = respond_parked(request);
    // Nothing of the stream may follow the answer to PAUSE and TEARDOWN.
    if (before != session_.state() && session_.state() == ::rtsp::ServerSession::State::kReady)
        viewer_->set_paused(true);
    const bool tears_down = request.method == ::rtsp::Method::kTeardown && response.status == 200;
    if (tears_down) viewer_->set_paused(true);
    viewer_->send_control(base::Slice::copy(::rtsp::write(response)));
    if (!viewer_->joined()) return;
    if (tears_down) return viewer_->finish("closed by the client (TEARDOWN)", CloseReason::kPeerClosed);
    if (before != session_.state() && session_.state() == ::rtsp::ServerSession::State::kPlaying)
        viewer_->set_paused(false);
}

void Connection::on_stream_end(live::Viewer&) {}

void Connection::on_viewer_end(live::Viewer& viewer, std::string_view why) {
    runtime::ContextScope scope(id());
    grant_.end(traffic());
    log_end(viewer.end_text(why), viewer.close_reason());
    service_.remove(*this);
}

}  // namespace service::rtsp
