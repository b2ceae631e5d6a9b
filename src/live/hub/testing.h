#pragma once
// For the tests of src/live: frames, and a readable text wire format.

#include <cstring>
#include <memory>
#include <string>

#include "live/fanout/wire_encoder.h"

namespace live::testing {

// Times in ms.
inline media::Frame frame(media::Kind kind, int64_t dts, bool keyframe = false, std::string payload = "x") {
    media::Frame f;
    f.kind = kind;
    f.codec = kind == media::Kind::kVideo ? media::Codec::kH264 : media::Codec::kAac;
    f.dts = media::from_ms(dts);
    f.keyframe = keyframe;
    f.payload = base::Slice::copy(payload);
    return f;
}
inline media::Frame video(int64_t dts, bool keyframe = false, std::string payload = "v") {
    return frame(media::Kind::kVideo, dts, keyframe, std::move(payload));
}
inline media::Frame audio(int64_t dts, std::string payload = "a") {
    return frame(media::Kind::kAudio, dts, false, std::move(payload));
}
inline media::Frame header(media::Kind kind, std::string payload) {
    media::Frame f = frame(kind, 0, kind == media::Kind::kVideo, std::move(payload));
    f.sequence_header = true;
    return f;
}
inline media::Frame metadata(std::string rest = "") {
    media::Frame f = frame(media::Kind::kData, 0, false, std::string("\x02\x00\x0aonMetaData", 13) + rest);
    f.codec = media::Codec::kAmf0;
    f.sequence_header = true;
    return f;
}

// "[dts payload]" is a packet, "<FIRST? video header|audio header>" a prefix, of all kinds or of one.
class TextEncoder : public WireEncoder {
  public:
    explicit TextEncoder(const LogKey& key) : key_(key) {}
    void encode_prefix(const media::TrackSet& tracks, media::Time start_dts, bool first,
                       base::SliceBuilder& out) override {
        std::string text = std::string("<") + (first ? "FIRST " : "") + std::to_string(media::to_ms(start_dts)) + " " +
                           header_text(tracks.config(media::Kind::kVideo)) + "|" +
                           header_text(tracks.config(media::Kind::kAudio)) + ">";
        out.append(base::Slice::copy(text));
    }
    size_t encoded_size(const media::Frame& f) override { return carries(f.kind) ? text_of(f).size() : 0; }
    void encode(const media::Frame& f, uint8_t* out) override {
        std::string text = text_of(f);
        std::memcpy(out, text.data(), text.size());
    }
    bool is_repeatable() const override { return key_.parameters[1] == 0; }
    // Metadata announces audio.
    void set_tracks(const media::TrackSet& tracks) override {
        awaits_ = key_.parameters[2] != 0 && tracks.metadata && !tracks.audio();
    }
    bool awaits_tracks() const override { return awaits_; }
    void stop_awaiting() override { awaits_ = false; }
    bool carries(media::Kind kind) const override {
        return key_.parameters[0] == 0 || key_.parameters[0] == 1 + static_cast<uint32_t>(kind);
    }
    static std::unique_ptr<WireEncoder> make(const LogKey& key) { return std::make_unique<TextEncoder>(key); }

  private:
    static std::string header_text(const media::Frame* header) {
        return header ? std::string(header->payload.text()) : "-";
    }
    static std::string text_of(const media::Frame& f) {
        return "[" + std::to_string(media::to_ms(f.dts)) + " " + std::string(f.payload.text()) + "]";
    }
    LogKey key_;
    bool awaits_ = false;
};

inline const WireFormat kTextFormat{"text", TextEncoder::make};
inline const LogKey kAllText{&kTextFormat, {}};
inline const LogKey kUnrepeatableText{&kTextFormat, {0, 1}};
inline const LogKey kAwaitingText{&kTextFormat, {0, 0, 1}};
inline const LogKey kVideoText{&kTextFormat, {1 + static_cast<uint32_t>(media::Kind::kVideo)}};
inline const LogKey kAudioText{&kTextFormat, {1 + static_cast<uint32_t>(media::Kind::kAudio)}};

}  // namespace live::testing
