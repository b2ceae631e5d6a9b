#include "service/http_live/websocket_framing.h"

#include "protocol/websocket/frame.h"

namespace service::http_live {

void WebSocketFraming::encode_prefix(const media::TrackSet& tracks, media::Time start_dts, bool first,
                                     base::SliceBuilder& out) {
    base::SliceBuilder payload;
    inner_->encode_prefix(tracks, start_dts, first, payload);
    if (payload.size() == 0) return;
    websocket::frame_header(out.extend(websocket::frame_header_size(payload.size())), payload.size());
    out.append(payload.bytes());
}

size_t WebSocketFraming::encoded_size(const media::Frame& frame) {
    size_t size = inner_->encoded_size(frame);
    return size ? websocket::frame_header_size(size) + size : 0;
}

void WebSocketFraming::encode(const media::Frame& frame, uint8_t* out) {
    out += websocket::frame_header(out, inner_->encoded_size(frame));
    inner_->encode(frame, out);
}

}  // namespace service::http_live
