#include "live/fanout/rtmp_encoder.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "protocol/flv/metadata.h"
#include "protocol/flv/writer.h"
#include "protocol/rtmp/chunk_writer.h"

namespace live {

namespace {

// An AMF0 string.
constexpr std::string_view kSetDataFrame("\x02\x00\x0d@setDataFrame", 16);

struct Body {
    uint8_t header[std::max(flv::kMaxBodyHeader, kSetDataFrame.size())];
    size_t header_size;
    uint8_t type;
    uint32_t csid;

    Body(const media::Frame& frame, bool publish) : header_size(flv::put_body_header(frame, header)) {
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
                if (publish && flv::is_metadata(frame.payload)) {
                    std::memcpy(header, kSetDataFrame.data(), kSetDataFrame.size());
                    header_size = kSetDataFrame.size();
                }
                break;
        }
    }
    std::span<const uint8_t> bytes() const { return {header, header_size}; }
};

class Encoder final : public WireEncoder {
  public:
    explicit Encoder(const RtmpParameters& parameters) : parameters_(parameters) {}

    void encode_prefix(const StreamHeaders& headers, int64_t start_dts, bool, base::SliceBuilder& out) override {
        for (const auto* header : {&headers.metadata, &headers.video, &headers.audio}) {
            if (!*header) continue;
            media::Frame frame = **header;
            frame.dts = start_dts;
            if (size_t size = encoded_size(frame)) encode(frame, out.extend(size));
        }
    }

    size_t encoded_size(const media::Frame& frame) override {
        if (!carries(frame.kind)) return 0;
        Body body(frame, parameters_.publish);
        size_t size = body.header_size + frame.payload.size();
        if (size > rtmp::kMaxMessage) return 0;  // no message can hold it
        return rtmp::chunked_size(size, parameters_.chunk_size, flv::timestamp(frame), body.csid);
    }

    void encode(const media::Frame& frame, uint8_t* out) override {
        Body body(frame, parameters_.publish);
        rtmp::write_chunks(out, body.csid, body.type, parameters_.stream_id, flv::timestamp(frame), body.bytes(),
                           frame.payload, parameters_.chunk_size);
    }

    bool carries(media::Kind kind) const override {
        if (kind == media::Kind::kVideo) return parameters_.video;
        return kind == media::Kind::kAudio ? parameters_.audio : true;
    }

  private:
    RtmpParameters parameters_;
};

}  // namespace

LogKey RtmpParameters::key() const {
    return fmt::format("rtmp/{}/{}/{}{}{}", chunk_size, stream_id, audio ? "a" : "", video ? "v" : "",
                       publish ? "p" : "");
}

RtmpParameters RtmpParameters::of(const LogKey& key) {
    RtmpParameters p;
    const char* at = key.data() + std::string_view("rtmp/").size();
    const char* end = key.data() + key.size();
    at = std::from_chars(at, end, p.chunk_size).ptr + 1;
    at = std::from_chars(at, end, p.stream_id).ptr + 1;
    std::string_view kinds(at, end);
    p.audio = kinds.find('a') != kinds.npos;
    p.video = kinds.find('v') != kinds.npos;
    p.publish = kinds.find('p') != kinds.npos;
    return p;
}

std::unique_ptr<WireEncoder> make_rtmp_encoder(const LogKey& key) {
    return std::make_unique<Encoder>(RtmpParameters::of(key));
}

}  // namespace live
