#include "service/rtmp/encoder.h"

#include <fmt/core.h>

#include <charconv>

#include "protocol/flv/writer.h"
#include "protocol/rtmp/chunk_writer.h"

namespace service::rtmp {

namespace {

struct Body {
    uint8_t header[flv::kMaxBodyHeader];
    size_t header_size;
    uint8_t type;
    uint32_t csid;

    explicit Body(const media::Frame& frame) : header_size(flv::put_body_header(frame, header)) {
        switch (frame.kind) {
            case media::Kind::kVideo:
                type = ::rtmp::kVideo;
                csid = ::rtmp::kVideoChunkStream;
                break;
            case media::Kind::kAudio:
                type = ::rtmp::kAudio;
                csid = ::rtmp::kAudioChunkStream;
                break;
            case media::Kind::kData:
                type = ::rtmp::kData;
                csid = ::rtmp::kDataChunkStream;
                break;
        }
    }
    std::span<const uint8_t> bytes() const { return {header, header_size}; }
};

class Encoder final : public live::WireEncoder {
  public:
    explicit Encoder(const EncoderParameters& parameters) : parameters_(parameters) {}

    void encode_prefix(const live::StreamHeaders& headers, int64_t start_dts, bool, base::SliceBuilder& out) override {
        for (const auto* header : {&headers.metadata, &headers.video, &headers.audio}) {
            if (!*header) continue;
            media::Frame frame = **header;
            frame.dts = start_dts;
            if (size_t size = encoded_size(frame)) encode(frame, out.extend(size));
        }
    }

    size_t encoded_size(const media::Frame& frame) override {
        if (!carries(frame.kind)) return 0;
        Body body(frame);
        size_t size = body.header_size + frame.payload.size();
        if (size > ::rtmp::kMaxMessage) return 0;  // no message can hold it
        return ::rtmp::chunked_size(size, parameters_.chunk_size, timestamp(frame), body.csid);
    }

    void encode(const media::Frame& frame, uint8_t* out) override {
        Body body(frame);
        ::rtmp::write_chunks(out, body.csid, body.type, parameters_.stream_id, timestamp(frame), body.bytes(),
                             frame.payload, parameters_.chunk_size);
    }

    bool carries(media::Kind kind) const override {
        if (kind == media::Kind::kVideo) return parameters_.video;
        return kind == media::Kind::kAudio ? parameters_.audio : true;
    }

  private:
    static uint32_t timestamp(const media::Frame& frame) { return static_cast<uint32_t>(frame.dts); }

    EncoderParameters parameters_;
};

}  // namespace

live::LogKey EncoderParameters::key() const {
    return fmt::format("rtmp/{}/{}/{}{}", chunk_size, stream_id, audio ? "a" : "", video ? "v" : "");
}

EncoderParameters EncoderParameters::of(const live::LogKey& key) {
    EncoderParameters p;
    const char* at = key.data() + std::string_view("rtmp/").size();
    const char* end = key.data() + key.size();
    at = std::from_chars(at, end, p.chunk_size).ptr + 1;
    at = std::from_chars(at, end, p.stream_id).ptr + 1;
    std::string_view kinds(at, end);
    p.audio = kinds.find('a') != kinds.npos;
    p.video = kinds.find('v') != kinds.npos;
    return p;
}

std::unique_ptr<live::WireEncoder> make_encoder(const live::LogKey& key) {
    return std::make_unique<Encoder>(EncoderParameters::of(key));
}

}  // namespace service::rtmp
