#include "convert/flv/to_rtmp.h"

#include <algorithm>
#include <cstring>

#include "protocol/flv/metadata.h"
#include "protocol/flv/writer.h"
#include "protocol/rtmp/chunk_writer.h"

namespace convert {

namespace {

// An AMF0 string.
constexpr std::string_view kSetDataFrame("\x02\x00\x0d@setDataFrame", 16);

// A message without its payload.
struct Head {
    uint8_t bytes[std::max(flv::kMaxBodyHeader, kSetDataFrame.size())];
    size_t size;
    uint8_t type;
    uint32_t csid;
    uint32_t timestamp;

    Head() = default;
    Head(const media::Frame& frame, bool publish)
        : size(flv::put_body_header(frame, bytes)), timestamp(flv::timestamp(frame)) {
        switch (frame.kind) {
            case media::Kind::kVideo:
                type = rtmp::kVideo;
                csid = rtmp::kVideoChunkStream;
                break;
            case media::Kind::kAudio:
                type = rtmp::kAudio;
                csid = rtmp::kAudioChunkStream;
                break;
            case media::Kind::kData:
                type = rtmp::kData;
                csid = rtmp::kDataChunkStream;
                if (publish && flv::is_metadata(frame)) {
                    std::memcpy(bytes, kSetDataFrame.data(), kSetDataFrame.size());
                    size = kSetDataFrame.size();
                }
                break;
        }
    }
};

class Encoder final : public live::WireEncoder {
  public:
    explicit Encoder(const RtmpParameters& parameters) : parameters_(parameters) {}

    void encode_prefix(const media::TrackSet& tracks, media::Time start_dts, bool, base::SliceBuilder& out) override {
        for (const media::Frame* header : tracks.headers()) {
            media::Frame frame = *header;
            frame.dts = start_dts;
            if (size_t size = encoded_size(frame)) encode(frame, out.extend(size));
        }
    }

    size_t encoded_size(const media::Frame& frame) override {
        if (!carries(frame.kind)) return 0;
        if (frame.track != 0 && !(parameters_.all_tracks && flv::can_write(frame))) return 0;
        head_ = Head(frame, parameters_.publish);
        size_t size = head_.size + frame.payload.size();
        if (size > rtmp::kMaxMessage) return 0;  // larger than any message
        return rtmp::chunked_size(size, parameters_.chunk_size, head_.timestamp, head_.csid);
    }

    void encode(const media::Frame& frame, uint8_t* out) override {
        rtmp::write_chunks(out, head_.csid, head_.type, parameters_.stream_id, head_.timestamp,
                           {head_.bytes, head_.size}, frame.payload, parameters_.chunk_size);
    }

    bool is_repeatable() const override { return true; }
    bool carries(media::Kind kind) const override {
        if (kind == media::Kind::kVideo) return parameters_.video;
        return kind == media::Kind::kAudio ? parameters_.audio : true;
    }

  private:
    RtmpParameters parameters_;
    Head head_;  // of the frame last passed to encoded_size()
};

// Bits of a key's last parameter.
enum RtmpFlags : uint32_t { kWantsAudio = 1, kWantsVideo = 2, kPublishes = 4, kWantsAllTracks = 8 };

std::unique_ptr<live::WireEncoder> make(const live::LogKey& key) {
    const auto [chunk_size, stream_id, flags] = key.parameters;
    return std::make_unique<Encoder>(RtmpParameters{.chunk_size = chunk_size,
                                                    .stream_id = stream_id,
                                                    .audio = (flags & kWantsAudio) != 0,
                                                    .video = (flags & kWantsVideo) != 0,
                                                    .all_tracks = (flags & kWantsAllTracks) != 0,
                                                    .publish = (flags & kPublishes) != 0});
}

const live::WireFormat kRtmp{"rtmp", make};

}  // namespace

live::LogKey RtmpParameters::key() const {
    const uint32_t flags = (audio ? kWantsAudio : 0u) | (video ? kWantsVideo : 0u) | (publish ? kPublishes : 0u) |
                           (all_tracks ? kWantsAllTracks : 0u);
    return {&kRtmp, {chunk_size, stream_id, flags}};
}

}  // namespace convert
