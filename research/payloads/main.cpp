// payloads: a file's track into RTP packets by the server's own packetisers, and back, for comparing with what
// other tools make of the same packets, without a server. Packets stand in the file as on a TCP connection (RFC 4571):
// two bytes of length, the packet.
//
//   objs/payloads --pack [--max=BYTES] IN OUT.rtp
//       the file's video, if it has some, else its audio: payload type 96, timestamps as in the track's description
//   objs/payloads --unpack CODEC [--sdp=FILE] [--lose=N] IN.rtp OUT
//       CODEC as the codec table names it: H264, HEVC, AV1, VP9, VP8, AAC, MP3, Opus; every Nth packet is left out.
//       With a description the format is that of its first track.
//
// Files are FLV; those whose name ends with .ivf are IVF of VP8 or VP9, times in ms.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "media/track_set.h"
#include "media/vpx.h"
#include "protocol/flv/body.h"
#include "protocol/flv/reader.h"
#include "protocol/flv/tag.h"
#include "protocol/flv/writer.h"
#include "protocol/rtp/packet.h"
#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/rtp/payload/packetizer.h"
#include "protocol/sdp/session/read.h"
#include "protocol/sdp/session/write.h"

namespace {

using base::Result;
using media::Kind;

struct Options {
    bool unpack = false;
    std::string codec;
    std::string sdp;
    size_t max_payload = rtp::kMaxPayload;
    size_t lose = 0;
    std::vector<std::string> files;
};

Result<std::vector<uint8_t>> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return base::fail(base::Code::kNotFound, path);
    return std::vector<uint8_t>{std::istreambuf_iterator<char>(file), {}};
}

void put(std::ofstream& out, std::span<const uint8_t> bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Result<std::vector<media::Frame>> read_flv(const std::string& path) {
    flv::Reader reader;
    flv::BodyParser parser;
    std::vector<media::Frame> frames;
    reader.feed(TRY(read_file(path)));
    while (auto tag = TRY(reader.next())) {
        auto parsed = parser.parse(tag->type, tag->body, tag->timestamp);
        if (!parsed) return std::unexpected(std::move(parsed.error()));
        if (parsed->frame && parsed->frame->kind != Kind::kData) frames.push_back(std::move(*parsed->frame));
    }
    return frames;
}

Result<std::vector<media::Frame>> read_ivf(const std::string& path) {
    auto bytes = TRY(read_file(path));
    base::ByteReader r(bytes);
    r.skip(8);
    bool vp9 = r.text(4) == "VP90";
    r.skip(4);
    uint32_t rate = r.u32le(), scale = r.u32le();
    r.skip(8);
    std::vector<media::Frame> frames;
    while (r.left() > 0) {
        media::Frame frame;
        frame.kind = Kind::kVideo;
        frame.codec = vp9 ? media::Codec::kVp9 : media::Codec::kVp8;
        uint32_t size = r.u32le();
        frame.dts = media::from_ticks(static_cast<int64_t>(r.u32le()) * scale, rate);
        r.skip(4);
        frame.payload = base::Slice::copy(r.bytes(size));
        frame.keyframe =
            TRY(vp9 ? media::parse_vp9_frame(frame.payload) : media::parse_vp8_frame(frame.payload)).keyframe;
        frames.push_back(std::move(frame));
    }
    if (!r.ok()) return base::fail(base::Code::kProtocol, "IVF cut short");
    return frames;
}

Result<std::vector<media::Frame>> read_frames(const std::string& path) {
    return path.ends_with(".ivf") ? read_ivf(path) : read_flv(path);
}

void put_packet(std::ofstream& out, const rtp::PayloadSpan& payload, std::span<const uint8_t> bytes, uint16_t sequence,
                uint32_t timestamp) {
    uint8_t head[2 + rtp::kMaxHeaderSize];
    rtp::Header header{payload.marker, 96, sequence, timestamp + payload.timestamp_offset, 0x12345678};
    size_t size = rtp::write_header(head + 2, header);
    base::put_u16(head, static_cast<uint32_t>(size + bytes.size()));
    put(out, {head, 2 + size});
    put(out, bytes);
}

Result<void> pack(const Options& options) {
    auto frames = TRY(read_frames(options.files[0]));
    std::ofstream out(options.files[1], std::ios::binary);
    Kind kind = Kind::kAudio;
    for (const media::Frame& frame : frames)
        if (frame.kind == Kind::kVideo) kind = Kind::kVideo;
    std::unique_ptr<rtp::Packetizer> packetizer;
    uint16_t sequence = 65'000;
    uint32_t clock_rate = 90'000;
    media::TrackSet set;
    base::SliceBuilder buffer;
    std::vector<rtp::PayloadSpan> payloads;
    for (const media::Frame& frame : frames) {
        if (frame.kind != kind) continue;
        if (!packetizer) packetizer = rtp::make_packetizer(frame.codec, {.max_payload = options.max_payload});
        if (!packetizer) return base::fail(base::Code::kNotFound, "a codec without RTP payload");
        if (set.changes_state(frame)) {
            set.update(frame);
            auto tracks = sdp::session_tracks(set);
            if (!tracks.empty()) clock_rate = tracks[0].format.clock_rate;
        }
        if (frame.sequence_header) {
            TRY(packetizer->set_header(frame));
            continue;
        }
        buffer.clear();
        payloads.clear();
        TRY(packetizer->write(frame, buffer, payloads));
        auto timestamp = static_cast<uint32_t>(media::to_ticks(frame.pts(), clock_rate));
        for (const rtp::PayloadSpan& payload : payloads)
            put_packet(out, payload, buffer.bytes().subspan(payload.begin, payload.end - payload.begin), sequence++,
                       timestamp);
    }
    return {};
}

void put_tag(std::ofstream& out, const media::Frame& frame) {
    uint8_t body[flv::kMaxBodyHeader];
    size_t body_header = flv::put_body_header(frame, body);
    auto body_size = static_cast<uint32_t>(body_header + frame.payload.size());
    uint8_t head[flv::kTagHeaderSize], tail[flv::kPreviousTagSize];
    flv::put_tag_header(head, flv::tag_type(frame.kind), body_size, static_cast<uint32_t>(media::to_ms(frame.dts)));
    flv::put_previous_tag_size(tail, body_size);
    put(out, head);
    put(out, {body, body_header});
    put(out, frame.payload);
    put(out, tail);
}

void put_ivf_head(std::ofstream& out, media::Codec codec) {
    std::vector<uint8_t> head;
    base::ByteWriter w(head);
    w.text("DKIF");
    w.u32le(32 << 16);  // version, size of this
    w.text(codec == media::Codec::kVp9 ? "VP90" : "VP80");
    w.u32le(0);  // size of pictures: they tell it themselves
    w.u32le(1000);
    w.u32le(1);
    w.u64(0);
    put(out, head);
}

void put_ivf(std::ofstream& out, const media::Frame& frame) {
    std::vector<uint8_t> head;
    base::ByteWriter w(head);
    w.u32le(static_cast<uint32_t>(frame.payload.size()));
    w.u32le(static_cast<uint32_t>(media::to_ms(frame.dts)));
    w.u32le(0);
    put(out, head);
    put(out, frame.payload);
}

Result<media::Codec> codec_of(const std::string& name) {
    for (int i = 0; i <= static_cast<int>(media::Codec::kAmf0); ++i)
        if (media::codec_info(static_cast<media::Codec>(i)).name == name) return static_cast<media::Codec>(i);
    return base::fail(base::Code::kNotFound, name);
}

Result<rtp::PayloadFormat> format_of(const Options& options) {
    rtp::PayloadFormat format;
    format.codec = TRY(codec_of(options.codec));
    format.channels = 2;
    if (media::codec_info(format.codec).kind == Kind::kAudio) format.clock_rate = 48'000;
    if (options.sdp.empty()) return format;
    auto text = TRY(read_file(options.sdp));
    auto session =
        TRY(sdp::read_session_text({reinterpret_cast<const char*>(text.data()), text.size()}, "rtsp://localhost/"));
    if (session.tracks.empty())
        return base::fail(base::Code::kNotFound,
                          session.skipped.empty() ? "a description without tracks" : session.skipped[0].reason);
    return session.tracks[0].format;
}

Result<void> unpack(const Options& options) {
    const auto format = TRY(format_of(options));
    const auto codec = format.codec;
    auto depacketizer = rtp::make_depacketizer(format);
    if (!depacketizer) return base::fail(base::Code::kNotFound, "a codec without RTP payload");
    bool video = media::codec_info(codec).kind == Kind::kVideo;
    auto bytes = TRY(read_file(options.files[0]));
    std::ofstream out(options.files[1], std::ios::binary);
    bool ivf = options.files[1].ends_with(".ivf");
    if (ivf) {
        put_ivf_head(out, codec);
    } else {
        uint8_t head[flv::kFileHeaderSize];
        flv::put_file_header(head, !video, video);
        put(out, head);
    }
    base::ByteReader r(bytes);
    std::vector<rtp::Unit> units;
    bool hole = false, first = true, waits = true;
    uint32_t origin = 0;
    size_t count = 0, skipped = 0;
    while (r.left() > 0) {
        auto packet = rtp::PacketView::parse(r.bytes(r.u16()));
        if (!packet) return base::fail(base::Code::kProtocol, "no RTP packet");
        if (std::exchange(first, false)) origin = packet->timestamp();
        if (options.lose > 0 && ++count % options.lose == 0) {
            hole = true;
            waits |= video;
            continue;
        }
        units.clear();
        depacketizer->push({packet->payload(), packet->timestamp(), packet->marker(), std::exchange(hole, false)},
                           units);
        for (rtp::Unit& unit : units) {
            if (unit.frame.keyframe || !video) waits = false;
            if (waits && !unit.frame.sequence_header) {
                ++skipped;
                continue;
            }
            unit.frame.dts = media::from_ticks(static_cast<int32_t>(unit.timestamp - origin), format.clock_rate);
            if (!ivf) {
                put_tag(out, unit.frame);
            } else if (!unit.frame.sequence_header) {
                put_ivf(out, unit.frame);
            }
        }
    }
    const auto& counters = depacketizer->counters();
    std::printf("malformed %zu, damaged %zu, undecodable %zu, skipped %zu\n", size_t{counters.malformed},
                size_t{counters.damaged}, size_t{counters.undecodable}, skipped);
    return {};
}

bool parse(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        std::string word = argv[i];
        if (word == "--pack") {
            options.unpack = false;
        } else if (word == "--unpack" && i + 1 < argc) {
            options.unpack = true;
            options.codec = argv[++i];
        } else if (word.starts_with("--max=")) {
            options.max_payload = static_cast<size_t>(std::atoll(argv[i] + 6));
        } else if (word.starts_with("--sdp=")) {
            options.sdp = word.substr(6);
        } else if (word.starts_with("--lose=")) {
            options.lose = static_cast<size_t>(std::atoll(argv[i] + 7));
        } else if (word.starts_with("--")) {
            return false;
        } else {
            options.files.push_back(word);
        }
    }
    return options.files.size() == 2 && options.max_payload >= 64 && options.max_payload <= 60'000;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (!parse(argc, argv, options)) {
        std::fprintf(stderr,
                     "payloads --pack [--max=BYTES] IN.flv OUT.rtp\n"
                     "payloads --unpack CODEC [--sdp=FILE] [--lose=N] IN.rtp OUT.flv\n");
        return 2;
    }
    auto done = options.unpack ? unpack(options) : pack(options);
    if (!done) {
        std::fprintf(stderr, "payloads: %s\n", done.error().describe().c_str());
        return 1;
    }
    return 0;
}
