#include "service/http_live/encoders.h"

#include "convert/audio/to_adts.h"
#include "convert/ts/to_ts.h"
#include "service/http_live/websocket_framing.h"

namespace service::http_live {

namespace {

using Made = std::unique_ptr<live::WireEncoder>;

Made make_flv(const live::LogKey& key) {
    return std::make_unique<convert::FlvEncoder>(convert::FlvOptions::of(key.parameters[0]));
}
template <class Encoder>
Made make(const live::LogKey&) {
    return std::make_unique<Encoder>();
}
template <Made (*make_inner)(const live::LogKey&)>
Made framed(const live::LogKey& key) {
    return std::make_unique<WebSocketFraming>(make_inner(key));
}

// Indexed by Format; the second of each pair is the same in WebSocket frames.
const live::WireFormat kFormats[][2] = {
    {{"flv", make_flv}, {"ws-flv", framed<make_flv>}},
    {{"aac", make<convert::AdtsEncoder>}, {"ws-aac", framed<make<convert::AdtsEncoder>>}},
    {{"mp3", make<convert::Mp3Encoder>}, {"ws-mp3", framed<make<convert::Mp3Encoder>>}},
    {{"ts", make<convert::TsEncoder>}, {"ws-ts", framed<make<convert::TsEncoder>>}},
};

}  // namespace

live::LogKey log_key(Format format, const convert::FlvOptions& options, bool websocket) {
    return {&kFormats[static_cast<size_t>(format)][websocket ? 1 : 0], {format == Format::kFlv ? options.bits() : 0}};
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

std::string_view protocol_name(Format format, bool websocket) {
    switch (format) {
        case Format::kFlv:
            return websocket ? "ws-flv" : "http-flv";
        case Format::kTs:
            return websocket ? "ws-ts" : "http-ts";
        case Format::kAac:
            return "http-aac";
        case Format::kMp3:
            return "http-mp3";
    }
    return {};
}

}  // namespace service::http_live
