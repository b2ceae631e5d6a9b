// hot: the server's hot loops, each over fixed data a fixed number of times, for counting their instructions under
// valgrind's callgrind (counts.py beside this does). Run by itself it prints how often each loop does its unit of work.
//
// Each loop is a function loop_*() of C linkage; counts.py has callgrind put down its count before each of them. It
// works on what prepare() made before. Nothing in here depends on time, and no peer is a real one: the counts are those
// of the server's own code and its libraries, not of the kernel.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "convert/flv/to_rtmp.h"
#include "hot/fan_out.h"
#include "hot/material.h"
#include "hot/rtp_fan_out.h"
#include "media/aac.h"
#include "media/h264.h"
#include "protocol/amf/amf0.h"
#include "protocol/flv/body.h"
#include "protocol/mp4/finisher.h"
#include "protocol/mp4/fragment.h"
#include "protocol/rtmp/chunk_reader.h"
#include "protocol/ts/segment_muxer.h"
#include "runtime/loop/coroutine.h"
#include "service/http_live/encoders.h"

namespace hot {
namespace {

constexpr int kRounds = 100;     // over two seconds of stream each
constexpr size_t kRead = 16384;  // bytes handed to the chunk reader at once

struct CountMessages : rtmp::MessageSink {
    size_t count = 0;
    base::Result<bool> on_message(rtmp::Message&) override {
        ++count;
        return true;
    }
};

// What a publisher's session does with a message: parse its body, publish the frame.
struct PublishMessages : rtmp::MessageSink {
    flv::BodyParser parser;
    live::Publication* publication = nullptr;
    size_t count = 0;
    base::Result<bool> on_message(rtmp::Message& message) override {
        auto parsed = TRY(parser.parse(message.type, message.payload, message.timestamp));
        if (parsed.frame) publication->publish(std::move(*parsed.frame));
        ++count;
        return true;
    }
};

struct CountBytes : ts::PacketSink {
    size_t bytes = 0;
    void write(std::span<const uint8_t> packets) override { bytes += packets.size(); }
};

struct All {
    Material material;
    std::vector<uint8_t> out = std::vector<uint8_t>(1 << 20);
    std::unique_ptr<live::WireEncoder> rtmp_encoder, flv_encoder, websocket_encoder, ts_encoder;
    media::TrackSet tracks;
    std::unique_ptr<ts::SegmentMuxer> segments, big_segments;
    media::Frame big_frame;
    std::unique_ptr<FanOut> publish_alone, fan_out;
    std::unique_ptr<RtpFanOut> rtp_fan_out;
    std::vector<uint8_t> recording;  // what loop_mp4_fragment makes
};
All* all;

void feed(rtmp::ChunkReader& reader, const std::vector<uint8_t>& wire, rtmp::MessageSink& sink) {
    for (size_t at = 0; at < wire.size();) {
        size_t size = std::min(kRead, wire.size() - at);
        CHECK(reader.feed({wire.data() + at, size}, sink) == size);
        at += size;
    }
}

size_t decode(const std::vector<uint8_t>& wire, uint32_t chunk_size) {
    CountMessages sink;
    rtmp::ChunkReader reader;
    feed(reader, all->material.set_chunk_size(chunk_size), sink);
    sink.count = 0;
    for (int i = 0; i < kRounds; ++i) feed(reader, wire, sink);
    return sink.count;
}

size_t encode(live::WireEncoder& encoder) {
    size_t count = 0;
    for (int i = 0; i < kRounds; ++i) {
        for (const media::Frame& frame : all->material.frames()) {
            size_t size = encoder.encoded_size(frame);
            CHECK(size > 0 && size <= all->out.size());
            encoder.encode(frame, all->out.data());
            ++count;
        }
    }
    return count;
}

void set_headers(mp4::FragmentBuilder& builder) {
    media::Frame video;
    video.kind = media::Kind::kVideo;
    video.codec = media::Codec::kH264;
    video.sequence_header = true;
    constexpr uint8_t kSps[] = {0x67, 0x64, 0x00, 0x20, 0xac, 0xd9, 0x40, 0xc0, 0x29, 0xb0, 0x11, 0x00, 0x00,
                                0x03, 0x00, 0x01, 0x00, 0x00, 0x03, 0x00, 0x32, 0x0f, 0x18, 0x31, 0x96};
    constexpr uint8_t kPps[] = {0x68, 0xeb, 0xec, 0xb2, 0x2c};
    video.payload = *media::make_avc_config(kSps, kPps);
    media::Frame audio = video;
    audio.kind = media::Kind::kAudio;
    audio.codec = media::Codec::kAac;
    audio.payload = media::make_aac_config(2, 44100, 2);
    CHECK(builder.set_header(video).has_value() && builder.set_header(audio).has_value());
}

// Frames into sealed fragments of 800 ms, as a recorder cuts them; each piece is looked at, not copied.
template <class Piece>
size_t fragments(mp4::FragmentBuilder& builder, Piece piece) {
    size_t count = 0;
    media::Time begin{};
    for (int i = 0; i < kRounds; ++i) {
        for (media::Frame frame : all->material.frames()) {
            frame.dts += media::from_ms(2000 * i);
            if (frame.kind == media::Kind::kVideo && frame.dts - begin >= media::from_ms(800)) {
                for (auto bytes : builder.cut({.next_video_dts = frame.dts, .seal = true}).pieces) piece(bytes);
                begin = frame.dts;
            }
            CHECK(builder.add(frame));
            ++count;
        }
    }
    return count;
}

}  // namespace

extern "C" {
[[gnu::noinline]] size_t loop_chunk_decode_128() { return decode(all->material.wire(128), 128); }
[[gnu::noinline]] size_t loop_chunk_decode_4096() { return decode(all->material.wire(4096), 4096); }
[[gnu::noinline]] size_t loop_chunk_encode() { return encode(*all->rtmp_encoder); }
[[gnu::noinline]] size_t loop_flv_encode() { return encode(*all->flv_encoder); }
[[gnu::noinline]] size_t loop_websocket_flv_encode() { return encode(*all->websocket_encoder); }

[[gnu::noinline]] size_t loop_ts_encode() { return encode(*all->ts_encoder); }

// As HLS does: in kB of transport stream.
[[gnu::noinline]] size_t loop_ts_segments() {
    CountBytes sink;
    for (int i = 0; i < kRounds; ++i) {
        all->segments->begin_segment();
        for (const media::Frame& frame : all->material.frames()) (void)all->segments->write(frame, sink).has_value();
        all->segments->flush(sink);
    }
    return sink.bytes / 1000;
}

// 20 Mbit/s: what is left is the packets.
[[gnu::noinline]] size_t loop_ts_big_frames() {
    CountBytes sink;
    for (int i = 0; i < kRounds; ++i) {
        all->big_frame.dts += media::from_ms(40);
        (void)all->big_segments->write(all->big_frame, sink).has_value();
    }
    return sink.bytes / 1000;
}

// From a publisher's bytes to the stream and its GOP, nobody watching.
[[gnu::noinline]] size_t loop_publish() {
    PublishMessages sink;
    sink.publication = &all->publish_alone->publication();
    rtmp::ChunkReader reader;
    feed(reader, all->material.set_chunk_size(4096), sink);
    sink.count = 0;
    for (int i = 0; i < kRounds; ++i) feed(reader, all->material.wire(4096), sink);
    return sink.count;
}

// The pump: a viewer gets what is new.
[[gnu::noinline]] size_t loop_fan_out() {
    size_t sends = all->fan_out->sends();
    for (int i = 0; i < kRounds / 10; ++i) {
        for (const media::Frame& frame : all->material.frames()) all->fan_out->publish(frame);
    }
    return all->fan_out->sends() - sends;
}

// The same for WebRTC, a packet at a time, without its encryption.
[[gnu::noinline]] size_t loop_rtp_fan_out() {
    size_t sends = all->rtp_fan_out->sends();
    for (int i = 0; i < kRounds / 10; ++i) {
        for (const media::Frame& frame : all->material.frames()) all->rtp_fan_out->publish(frame);
    }
    return all->rtp_fan_out->sends() - sends;
}

[[gnu::noinline]] size_t loop_amf_decode() {
    for (int i = 0; i < kRounds * 10; ++i) {
        base::ByteReader reader(all->material.connect_command());
        CHECK(amf::decode_amf0_all(reader).has_value());
    }
    return kRounds * 10;
}

[[gnu::noinline]] size_t loop_amf_encode() {
    for (int i = 0; i < kRounds * 10; ++i) {
        std::vector<uint8_t> out;
        base::ByteWriter writer(out);
        for (const amf::Value& value : all->material.connect_values()) amf::encode_amf0(value, writer);
        CHECK(out.size() == all->material.connect_command().size());
    }
    return kRounds * 10;
}

[[gnu::noinline]] size_t loop_mp4_fragment() {
    size_t bytes = 0;
    mp4::FragmentBuilder builder;
    set_headers(builder);
    size_t count = fragments(builder, [&](std::span<const uint8_t> piece) { bytes += piece.size(); });
    CHECK(bytes > 0);
    return count;
}

// From a recording to the tables of a plain file.
[[gnu::noinline]] size_t loop_mp4_finish() {
    mp4::Finisher finisher(all->recording.size());
    while (auto want = finisher.want()) {
        std::span<const uint8_t> file(all->recording);
        file = file.subspan(std::min<size_t>(want->offset, file.size()));
        CHECK(finisher.feed(file.first(std::min(want->size, file.size()))));
    }
    CHECK(finisher.plan(4096).has_value());
    return finisher.samples();
}

// Ends the last one's count.
[[gnu::noinline]] size_t loop_end() {
    asm volatile("");  // else the call would go, having no effect
    return 0;
}
}

namespace {

void prepare_ts() {
    const uint8_t sps[] = {0x67, 0x42, 0xc0, 0x1e, 0xd9, 0x00, 0xa0, 0x47, 0xfe, 0xc8};
    const uint8_t pps[] = {0x68, 0xcb, 0x83, 0xcb, 0x20};
    media::Frame video, audio;
    video.kind = media::Kind::kVideo;
    video.codec = media::Codec::kH264;
    audio.kind = media::Kind::kAudio;
    audio.codec = media::Codec::kAac;
    video.sequence_header = audio.sequence_header = true;
    video.payload = media::make_avc_config(sps, pps).value();
    audio.payload = media::make_aac_config(2, 44100, 2);
    all->tracks.update(video);
    all->tracks.update(audio);
    all->ts_encoder = service::http_live::log_key(service::http_live::Format::kTs, {}, false).make_encoder();
    all->ts_encoder->set_tracks(all->tracks);
    CountBytes sink;
    for (auto* segments : {&all->segments, &all->big_segments}) {
        *segments = std::make_unique<ts::SegmentMuxer>();
        CHECK((*segments)->write(video, sink) && (*segments)->write(audio, sink));
    }
    all->big_frame = Material::video_frame(0, false, 100'000);
}

void prepare() {
    prepare_ts();
    all->rtmp_encoder = convert::RtmpParameters{}.key().make_encoder();
    using service::http_live::Format;
    for (bool websocket : {false, true}) {
        auto key = service::http_live::log_key(Format::kFlv, {}, websocket);
        (websocket ? all->websocket_encoder : all->flv_encoder) = key.make_encoder();
    }
    mp4::FragmentBuilder builder;
    set_headers(builder);
    all->recording = builder.recording_head();
    fragments(builder, [](std::span<const uint8_t> piece) {
        all->recording.insert(all->recording.end(), piece.begin(), piece.end());
    });
    all->publish_alone = std::make_unique<FanOut>(0, all->material.frames());
    all->fan_out = std::make_unique<FanOut>(FanOut::kViewers, all->material.frames());
    all->rtp_fan_out = std::make_unique<RtpFanOut>(all->material.frames());
}

struct Loop {
    const char* name;
    size_t (*run)();
    const char* unit;
};
constexpr Loop kLoops[] = {
    {"chunk_decode_128", loop_chunk_decode_128, "message"},
    {"chunk_decode_4096", loop_chunk_decode_4096, "message"},
    {"publish", loop_publish, "message"},
    {"chunk_encode", loop_chunk_encode, "message"},
    {"flv_encode", loop_flv_encode, "frame"},
    {"websocket_flv_encode", loop_websocket_flv_encode, "frame"},
    {"ts_encode", loop_ts_encode, "frame"},
    {"ts_segments", loop_ts_segments, "kB of transport stream"},
    {"ts_big_frames", loop_ts_big_frames, "kB of transport stream"},
    {"fan_out", loop_fan_out, "send to a viewer"},
    {"rtp_fan_out", loop_rtp_fan_out, "packet to a player"},
    {"amf_decode", loop_amf_decode, "connect command"},
    {"amf_encode", loop_amf_encode, "connect command"},
    {"mp4_fragment", loop_mp4_fragment, "frame"},
    {"mp4_finish", loop_mp4_finish, "frame"},
};

}  // namespace
}  // namespace hot

int main() {
    if (auto started = runtime::init(); !started) {
        std::fprintf(stderr, "%s\n", started.error().describe().c_str());
        return 1;
    }
    hot::All everything;
    hot::all = &everything;
    hot::prepare();
    for (const auto& loop : hot::kLoops) std::printf("%s %zu %s\n", loop.name, loop.run(), loop.unit);
    hot::loop_end();
    std::fflush(stdout);
    everything.publish_alone.reset();
    everything.fan_out.reset();
    everything.rtp_fan_out.reset();
    runtime::shutdown();
}
