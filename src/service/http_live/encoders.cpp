#include "service/http_live/encoders.h"

#include "service/http_live/audio_encoder.h"
#include "service/http_live/ts_encoder.h"
#include "service/http_live/websocket_framing.h"

namespace service::http_live {

namespace {
constexpr std::string_view kWebSocket = "ws/", kFlv = "flv/", kAac = "aac", kMp3 = "mp3", kTs = "ts";
}

live::LogKey log_key(Format format, const FlvOptions& options, bool websocket) {
    live::LogKey key(websocket ? kWebSocket : std::string_view());
    if (format == Format::kAac) return key.append(kAac);
    if (format == Format::kMp3) return key.append(kMp3);
    if (format == Format::kTs) return key.append(kTs);
    return key.append(kFlv).append(options.key());
}

std::unique_ptr<live::WireEncoder> make_encoder(const live::LogKey& key) {
    std::string_view text = key;
    bool websocket = text.starts_with(kWebSocket);
    if (websocket) text.remove_prefix(kWebSocket.size());
    std::unique_ptr<live::WireEncoder> encoder;
    if (text == kAac) {
        encoder = std::make_unique<AdtsEncoder>();
    } else if (text == kMp3) {
        encoder = std::make_unique<Mp3Encoder>();
    } else if (text == kTs) {
        encoder = std::make_unique<TsEncoder>();
    } else {
        CHECK(text.starts_with(kFlv));
        encoder = std::make_unique<FlvEncoder>(FlvOptions::from_key(text.substr(kFlv.size())));
    }
    if (websocket) encoder = std::make_unique<WebSocketFraming>(std::move(encoder));
    return encoder;
}

std::string_view content_type(Format format) {
    switch (format) {
        case Format::kFlv:
            return "video/x-flv";
        case Format::kAac:
            return "audio/aac";
        case Format::kMp3:
            return "audio/mpeg";
        case Format::kTs:
            return "video/mp2t";
    }
    return "application/octet-stream";
}

}  // namespace service::http_live
