#include "service/http_live/viewer.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/log.h"
#include "protocol/websocket/frame.h"
#include "runtime/loop/coroutine.h"
#include "service/http_live/encoders.h"
#include "service/session_figures.h"

namespace service::http_live {

LiveViewer::LiveViewer(LiveViewerOwner& owner, net::SessionTable& sessions, const std::string& id,
                       const std::string& ip, const Past& past, base::Ref<live::Stream> stream, net::Grant grant,
                       bool websocket, const net::Visitor& visitor, std::string_view protocol)
    : Session(sessions, id, ip, past),
      owner_(owner),
      before_(past.traffic),
      tc_url_(visitor.tc_url),
      page_url_(visitor.page_url),
      params_(visitor.param),
      grant_(std::move(grant)),
      protocol_(protocol),
      viewer_(*this, std::move(stream)) {
    set_type(net::SessionType::kFlvPlay);
    set_agent(visitor.user_agent);
    enter_stream(viewer_.stream().key(), false);
    if (websocket) frames_ = std::make_unique<websocket::ClientFrames>();
}

void LiveViewer::join(const live::LogKey& key, std::unique_ptr<runtime::ByteStream> socket,
                      std::string_view response_head, std::span<const uint8_t> early) {
    base::log::trace("flv-play started: {} to {}, {}{}", stream_text(), ip(), key.format->protocol,
                     viewer_.stream().published() ? "" : ", waiting for its publisher");
    viewer_.join(key, std::move(socket), base::Slice::copy(response_head));
    if (!early.empty() && viewer_.joined()) on_viewer_input(viewer_, early);
}

net::ClientDetails LiveViewer::details() const {
    // SRS reports rtmp:// to hooks, and the requested URL in its API.
    const size_t scheme = tc_url_.find("://");
    const bool is_http2 = viewer_.socket() && viewer_.socket()->protocol() == "h2";
    return {"http" + tc_url_.substr(std::min(scheme, tc_url_.size())),
            page_url_,
            {},
            params_,
            is_http2 ? "h2" : "http/1.1"};
}

net::SessionFigures LiveViewer::figures() const {
    net::SessionFigures figures = figures_of(viewer_);
    figures.protocol = protocol_;
    return figures;
}

net::Traffic LiveViewer::traffic() const {
    return {before_.received_bytes + viewer_.counters().received_bytes,
            before_.sent_bytes + viewer_.counters().sent_bytes};
}

void LiveViewer::kick(std::string_view reason) {
    send_close(websocket::kPolicyViolation, reason);
    viewer_.abort(reason, base::CloseReason::kKicked);
}

void LiveViewer::stop() {
    constexpr std::string_view kWhy = "the server stops";
    send_close(websocket::kGoingAway, kWhy);
    viewer_.abort(kWhy, base::CloseReason::kServerStop);
}

void LiveViewer::on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) {
    if (!frames_) {
        if (viewer.counters().received_bytes > kMaxInputBytes)
            viewer.abort("too much input from a viewer", base::CloseReason::kFlood);
        return;
    }
    while (!bytes.empty() && viewer.joined()) {
        size_t used = 0;
        auto message = frames_->feed(bytes, used);
        bytes = bytes.subspan(used);
        if (frames_->error_code())
            return close_websocket(frames_->error_code(), frames_->error_text(),
                                   fmt::format("WebSocket: {}", frames_->error_text()),
                                   base::CloseReason::kProtocolError);
        if (message) on_message(*message);
    }
}

void LiveViewer::on_message(const websocket::Message& message) {
    switch (message.opcode) {
        case websocket::Opcode::kPing: {
            if (close_sent_) return;
            auto payload = std::span(reinterpret_cast<const uint8_t*>(message.payload.data()), message.payload.size());
            return viewer_.send_control(websocket::control_frame(websocket::Opcode::kPong, payload));
        }
        case websocket::Opcode::kClose: {
            // 1005 means that there was no code; it must not be sent.
            uint16_t code = message.close_code == 1005 ? uint16_t{websocket::kNormal} : message.close_code;
            return close_websocket(code, {}, fmt::format("closed by the peer with {}", message.close_code),
                                   base::CloseReason::kPeerClosed);
        }
        default:
            return;  // messages from players, text or pong, are ignored
    }
}

void LiveViewer::close_websocket(uint16_t code, std::string_view reason, std::string_view why,
                                 base::CloseReason why_code) {
    send_close(code, reason);
    viewer_.finish(why, why_code);
}

// A browser reports an error if anything follows the Close, be it media or a second Close. So the log's bytes end here,
// after the packet under way.
void LiveViewer::send_close(uint16_t code, std::string_view reason) {
    if (!frames_ || close_sent_) return;
    close_sent_ = true;
    viewer_.set_paused(true);
    viewer_.send_control(websocket::close_frame(code, reason));
}

void LiveViewer::on_stream_end(live::Viewer&) { send_close(websocket::kNormal, "the stream ended"); }

void LiveViewer::on_viewer_end(live::Viewer& viewer, std::string_view why) {
    runtime::ContextScope scope(id());
    grant_.end(traffic());
    log_end(viewer.end_text(why), viewer.close_reason());
    owner_.viewer_ended(*this);
}

}  // namespace service::http_live
