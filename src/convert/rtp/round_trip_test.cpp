// Each codec: frames -> description and RTP packets -> frames, which must be the same in payload and times.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "convert/rtp/rtp_reader.h"
#include "convert/rtp/rtp_writer.h"
#include "media/aac.h"
#include "media/audio_headers.h"
#include "media/h264.h"
#include "media/h265.h"
#include "protocol/rtp/ntp.h"
#include "protocol/rtp/payload/payload_testing.h"
#include "protocol/sdp/session/read.h"
#include "protocol/sdp/session/write.h"

namespace convert {
namespace {

using base::hex;
using media::Codec;
using media::Frame;
using media::Kind;
using media::Time;
using rtp::testing::Bytes;
using std::chrono::milliseconds;

// A stream of one track: its configuration, and frames made by number and size.
struct Case {
    std::string name;
    Codec codec;
    base::Slice config;  // empty: the codec has none
    Frame (*frame)(int number, size_t size);
    Time duration;              // of a frame
    std::vector<int> order{0};  // presentation order within a group of frames, as numbers in decoding order
    int declared = 0;           // reordered frames that the SPS declares and the stream does not have
    size_t max_packet = 1200;
    std::optional<uint8_t> channel{};
    bool single_nalus = false;
};

Bytes counting(Bytes begin, size_t size) {
    while (begin.size() < size) begin.push_back(static_cast<uint8_t>(begin.size() * 11));
    return begin;
}

Frame frame_of(Codec codec, bool keyframe, const Bytes& bytes) {
    Frame frame;
    frame.kind = media::codec_info(codec).kind;
    frame.codec = codec;
    frame.keyframe = keyframe;
    frame.payload = base::Slice::copy(bytes);
    return frame;
}

bool is_key(int number) { return number % 12 == 0; }

// Two slices, and SEI before every third picture.
Frame h264(int number, size_t size) {
    std::vector<Bytes> units;
    if (number % 3 == 0) units.push_back(hex("0605 0401020304 80"));
    const uint8_t type = is_key(number) ? 0x65 : 0x41;
    units.push_back(rtp::testing::nalu({type}, size + 2));
    units.push_back(counting({type, 0x08}, size / 2 + 2));
    return rtp::testing::video_frame(Codec::kH264, is_key(number), units);
}

Frame hevc(int number, size_t size) {
    const uint8_t type = is_key(number) ? 0x26 : 0x02;
    return rtp::testing::video_frame(
        Codec::kHevc, is_key(number),
        {rtp::testing::nalu({type, 1}, size + 3), counting({type, 1, 0x08}, size / 3 + 3)});
}

Frame av1(int number, size_t size) {
    Bytes bytes;
    if (is_key(number)) bytes = hex("0a0b0200000561e7f66017c002");
    bytes.push_back(0x32);
    for (size_t left = size;; left >>= 7) {
        bytes.push_back(static_cast<uint8_t>((left & 0x7f) | (left > 0x7f ? 0x80 : 0)));
        if (left <= 0x7f) break;
    }
    return frame_of(Codec::kAv1, is_key(number), counting(bytes, bytes.size() + size));
}

Frame vp8(int number, size_t size) {
    return frame_of(Codec::kVp8, is_key(number),
                    counting(hex(is_key(number) ? "b043009d012a4001b400" : "b10200"), size));
}
Frame vp9(int number, size_t size) {
    return frame_of(Codec::kVp9, is_key(number),
                    counting(hex(is_key(number) ? "824983420013f00b360438241c18" : "8600"), size));
}
Frame aac(int, size_t size) { return frame_of(Codec::kAac, false, counting({0x21}, std::min<size_t>(size, 6000))); }
Frame opus(int, size_t size) { return frame_of(Codec::kOpus, false, counting({0xfc}, std::min<size_t>(size, 1000))); }
Frame pcma(int, size_t) { return frame_of(Codec::kPcmAlaw, false, counting({0xd5}, 160)); }
Frame pcmu(int, size_t) { return frame_of(Codec::kPcmUlaw, false, counting({0xff}, 160)); }
// MPEG-1 layer III of 44.1 kHz, 128 and 320 kbit/s.
Frame mp3(int number, size_t) {
    return frame_of(Codec::kMp3, false, number % 2 ? counting(hex("fffb9064"), 417) : counting(hex("fffbe064"), 1044));
}

base::Slice h264_config(const char* sps) { return *media::make_avc_config(hex(sps), rtp::testing::h264_pps()); }
constexpr const char* kBaseline = "6742c01ed890280bfe5c0440000003004000000c83c58b8980";
// High, two reordered frames, 25 a second.
constexpr const char* kHigh = "6764001eacd940a02ff97011000003000100000300320f162d96";
// Presentation order of a pyramid of three B-frames: I P B b b ...
const std::vector<int> kPyramid{0, 4, 2, 1, 3};

base::Slice hevc_config() {
    return *media::make_hevc_config(
        hex("40010c01ffff01600000030090000003000003003f959809"),
        hex("42010101600000030090000003000003003fa00602014165959a4932bc05a708000003000800000300c840"),
        hex("4401c172b46240"));
}

std::vector<Case> cases() {
    const Time video = milliseconds(40), frame = media::from_ticks(1024, 48'000);
    return {
        {"H264", Codec::kH264, h264_config(kBaseline), h264, video},
        {"H264 with B-frames", Codec::kH264, h264_config(kHigh), h264, video, kPyramid},
        {"H264 in small packets", Codec::kH264, h264_config(kBaseline), h264, video, {0}, 0, 200},
        {"H264 of NTSC", Codec::kH264, h264_config(kBaseline), h264, media::from_ticks(1001, 30'000)},
        {"H264 of single NAL units, interleaved",
         Codec::kH264,
         h264_config(kBaseline),
         h264,
         video,
         {0},
         0,
         65'535,
         6,
         true},
        {"HEVC", Codec::kHevc, hevc_config(), hevc, video, {0}, 2},
        {"HEVC with B-frames", Codec::kHevc, hevc_config(), hevc, video, kPyramid},
        {"AV1", Codec::kAv1, base::Slice::copy(hex("81000c000a0b0200000561e7f66017c002")), av1, video},
        {"AV1 in small packets",
         Codec::kAv1,
         base::Slice::copy(hex("81000c000a0b0200000561e7f66017c002")),
         av1,
         video,
         {0},
         0,
         128},
        {"VP8", Codec::kVp8, {}, vp8, video},
        {"VP9", Codec::kVp9, {}, vp9, video},
        {"AAC", Codec::kAac, media::make_aac_config(2, 48'000, 2), aac, frame},
        {"AAC of 44.1 kHz, interleaved",
         Codec::kAac,
         media::make_aac_config(2, 44'100, 1),
         aac,
         media::from_ticks(1024, 44'100),
         {0},
         0,
         1200,
         0},
        {"HE-AAC", Codec::kAac, base::Slice::copy(hex("2b118800")), aac, media::from_ticks(2048, 48'000)},
        {"Opus", Codec::kOpus, media::make_opus_head(2, 0, 48'000), opus, milliseconds(20)},
        {"PCMA", Codec::kPcmAlaw, {}, pcma, milliseconds(20)},
        {"PCMU", Codec::kPcmUlaw, {}, pcmu, milliseconds(20)},
        {"MP3", Codec::kMp3, {}, mp3, media::from_ticks(1152, 44'100)},
        {"MP3 in small packets", Codec::kMp3, {}, mp3, media::from_ticks(1152, 44'100), {0}, 0, 256},
    };
}

std::vector<Frame> frames_of(const Case& c) {
    constexpr size_t kSizes[] = {20'000, 300, 1, 900, 1186, 1187, 1188, 1189, 60, 5000, 2400, 2, 60'000};
    std::vector<Frame> frames;
    const int group = static_cast<int>(c.order.size());
    const int delay = group > 1 ? 2 : 0;
    for (int i = 0; i < 60; ++i) {
        Frame frame = c.frame(i, kSizes[static_cast<size_t>(i) % std::size(kSizes)]);
        int shown = i;
        // Each group of four of a pyramid follows the keyframe or the last P.
        if (group > 1 && i > 0) shown = (i - 1) / 4 * 4 + c.order[static_cast<size_t>((i - 1) % 4) + 1];
        frame.dts = c.duration * i;
        frame.cts = c.duration * (shown + delay) - frame.dts;
        frames.push_back(std::move(frame));
    }
    return frames;
}

media::TrackSet tracks_of(const Case& c, const Frame& first) {
    media::TrackSet set;
    Frame header = first;
    if (!c.config.empty()) {
        header.sequence_header = true;
        header.payload = c.config;
    }
    set.update(header);
    return set;
}

// The description that a player reads.
std::vector<sdp::SessionTrack> read_back(const std::vector<sdp::SessionTrack>& tracks) {
    auto session = sdp::read_session_text(sdp::write_session({}, tracks), "rtsp://h/s");
    EXPECT_TRUE(session && session->warnings.empty());
    return session ? session->tracks : std::vector<sdp::SessionTrack>();
}

// Passes the packets in `bytes` to the reader.
void pass(RtpReader& reader, size_t track, const RtpWriterOptions& options, std::span<const uint8_t> bytes,
          const std::vector<WrittenPacket>& packets, int64_t now_us, std::vector<Frame>& out) {
    for (const WrittenPacket& at : packets) {
        auto packet = bytes.subspan(at.begin, at.end - at.begin);
        if (options.channel) {
            ASSERT_EQ(packet[0], '$');
            ASSERT_EQ(packet[1], *options.channel);
            ASSERT_EQ(size_t{packet[2]} << 8 | packet[3], packet.size() - 4);
            packet = packet.subspan(4);
        }
        auto view = rtp::PacketView::parse(packet);
        ASSERT_TRUE(view);
        ASSERT_LE(packet.size(), options.max_packet);
        reader.push(track, view->header(), view->payload(), false, now_us, out);
    }
}

void compare(const Case& c, const std::vector<Frame>& sent, const std::vector<Frame>& came, uint32_t clock_rate) {
    const Time half = media::from_ticks(1, clock_rate) / 2 + Time(1);
    ASSERT_EQ(came.size(), sent.size()) << c.name;
    const Time offset = came[0].pts() - sent[0].pts();
    for (size_t i = 0; i < sent.size(); ++i) {
        SCOPED_TRACE(c.name + ", frame " + std::to_string(i));
        ASSERT_EQ(came[i].payload, sent[i].payload);
        EXPECT_EQ(came[i].kind, sent[i].kind);
        EXPECT_EQ(came[i].codec, sent[i].codec);
        EXPECT_EQ(came[i].keyframe, sent[i].keyframe);
        EXPECT_FALSE(came[i].discontinuity);
        // The first frame's time is rounded to its tick, too.
        EXPECT_LE(media::distance(came[i].pts() - offset, sent[i].pts()), 2 * half);
        const Time late = c.declared * c.duration;
        EXPECT_LE(media::distance(came[i].dts - offset, sent[i].dts - late), 2 * half);
    }
}

TEST(RtpRoundTrip, FramesComeBackTheSame) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        const auto sent = frames_of(c);
        const media::TrackSet set = tracks_of(c, sent[0]);
        std::vector<sdp::SkippedTrack> skipped;
        auto tracks = sdp::session_tracks(set, {.single_nalus = c.single_nalus}, &skipped);
        ASSERT_EQ(tracks.size(), 1u) << (skipped.empty() ? "" : skipped[0].reason);
        RtpWriterOptions options;
        options.format = tracks[0].format;
        options.payload_type = tracks[0].payload_type;
        options.ssrc = 7;
        options.sequence = 0xfff0;
        options.timestamp = 0xfffff000;
        options.max_packet = c.max_packet;
        options.channel = c.channel;
        auto writer = RtpWriter::make(set.tracks[0], options);
        ASSERT_TRUE(writer) << writer.error().text();
        RtpReader reader(read_back(tracks));
        std::vector<Frame> came, headers;
        base::SliceBuilder buffer;
        for (const Frame& frame : sent) {
            std::vector<WrittenPacket> packets;
            buffer.clear();
            auto written = writer->write(frame, buffer, packets);
            ASSERT_TRUE(written) << written.error().text();
            std::vector<Frame> out;
            pass(reader, 0, options, buffer.bytes(), packets, media::to_us(frame.dts), out);
            for (Frame& one : out) (one.sequence_header ? headers : came).push_back(std::move(one));
        }
        compare(c, sent, came, tracks[0].format.clock_rate);
        if (!c.config.empty()) {
            ASSERT_EQ(headers.size(), 1u);
            EXPECT_EQ(headers[0].payload, c.config);
        }
        const media::Track* track = reader.tracks().find(sent[0].kind);
        ASSERT_TRUE(track);
        EXPECT_EQ(track->codec, c.codec);
        EXPECT_EQ(reader.counters(0).frames, sent.size());
        EXPECT_EQ(reader.counters(0).payloads.malformed + reader.counters(0).payloads.damaged, 0u);
    }
}

// Packets are lost, the first ones behind the first frame: what comes are whole frames of the source with their times,
// video from a keyframe on.
TEST(RtpRoundTrip, LossesLeaveWholeFramesWithTheirTimes) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        const auto sent = frames_of(c);
        const media::TrackSet set = tracks_of(c, sent[0]);
        const auto tracks = sdp::session_tracks(set, {.single_nalus = c.single_nalus});
        RtpWriterOptions options;
        options.format = tracks[0].format;
        options.payload_type = tracks[0].payload_type;
        options.max_packet = c.max_packet;
        auto writer = RtpWriter::make(set.tracks[0], options);
        ASSERT_TRUE(writer);
        RtpReader reader(read_back(tracks));
        const size_t every = c.max_packet < 300 ? 197 : 41;
        size_t packet_count = 0, next = 0;
        bool hole = false, waits = false;
        Time last = media::kNoTime;
        std::optional<Time> offset;
        std::vector<Frame> out;
        for (const Frame& frame : sent) {
            base::SliceBuilder buffer;
            std::vector<WrittenPacket> packets;
            ASSERT_TRUE(writer->write(frame, buffer, packets));
            for (const WrittenPacket& at : packets) {
                if (++packet_count % every == 0) {
                    hole = waits = true;
                    continue;
                }
                auto view = rtp::PacketView::parse(buffer.bytes().subspan(at.begin, at.end - at.begin));
                reader.push(0, view->header(), view->payload(), std::exchange(hole, false), media::to_us(frame.dts),
                            out);
            }
        }
        size_t count = 0;
        for (const Frame& frame : out) {
            if (frame.sequence_header) continue;
            if (!offset) offset = frame.pts() - sent[0].pts();
            const Time tick = media::from_ticks(1, tracks[0].format.clock_rate);
            while (next < sent.size() && media::distance(sent[next].pts() + *offset, frame.pts()) > 2 * tick) ++next;
            ASSERT_LT(next, sent.size()) << "frame " << count << " has a time of none of the source";
            ASSERT_EQ(frame.payload, sent[next].payload) << "frame " << count;
            EXPECT_GT(frame.dts, last);
            last = frame.dts;
            ++count;
            ++next;
        }
        EXPECT_TRUE(waits) << "no packet was lost";
        EXPECT_GT(count, 0u);
        EXPECT_LT(count, sent.size());
        EXPECT_EQ(reader.counters(0).jumps, 0u);
    }
}

// A track with its writer, whose packets arrive `late` after their times.
struct Sender {
    RtpWriter writer;
    RtpWriterOptions options;
    std::vector<Frame> frames;
    int64_t late_us;
    size_t next = 0;

    int64_t arrival() const { return next < frames.size() ? media::to_us(frames[next].dts) + late_us : INT64_MAX; }
};

// Audio arrives later than video of the same time: sender reports bring the tracks into step.
TEST(RtpRoundTrip, TracksAreInStepBySenderReports) {
    const auto all = cases();
    media::TrackSet set;
    std::vector<std::vector<Frame>> sent;
    for (size_t i : {1u, 11u, 14u}) {  // H264 with B-frames, AAC, Opus as the second audio track
        sent.push_back(frames_of(all[i]));
        Frame header = sent.back()[0];
        header.sequence_header = true;
        header.payload = all[i].config;
        header.track = sent.size() == 3 ? 1 : 0;
        set.update(header);
    }
    const auto tracks = sdp::session_tracks(set);
    ASSERT_EQ(tracks.size(), 3u);
    RtpReader reader(read_back(tracks));
    std::vector<Sender> senders;
    for (size_t track = 0; track < 3; ++track) {
        RtpWriterOptions options;
        options.format = tracks[track].format;
        options.payload_type = tracks[track].payload_type;
        options.timestamp = static_cast<uint32_t>(track * 0x50000000);
        auto writer = RtpWriter::make(set.tracks[track], options);
        ASSERT_TRUE(writer);
        senders.push_back({*std::move(writer), options, sent[track], static_cast<int64_t>(track) * 300'000});
    }
    std::vector<Frame> came;
    for (size_t count = 0; count < 180; ++count) {
        const auto next = std::ranges::min_element(senders, {}, &Sender::arrival);
        const auto track = static_cast<size_t>(next - senders.begin());
        if (next->next == 1) {  // behind the first frame
            auto report = next->writer.sender_report(rtp::ntp_of_unix_us(1'700'000'000'000'000), milliseconds(0));
            reader.on_sender_report(track, report.ntp, report.rtp_timestamp);
        }
        base::SliceBuilder buffer;
        std::vector<WrittenPacket> packets;
        ASSERT_TRUE(next->writer.write(next->frames[next->next], buffer, packets));
        const int64_t now_us = next->arrival();
        ++next->next;
        pass(reader, track, next->options, buffer.bytes(), packets, now_us, came);
    }
    std::vector<Time> offsets;  // of each track's last frame
    for (const media::Track& track : set.tracks) {
        Time last{};
        for (const Frame& frame : came)
            if (frame.kind == track.kind && frame.track == track.index && !frame.sequence_header) last = frame.pts();
        offsets.push_back(last - sent[offsets.size()].back().pts());
    }
    EXPECT_LE(media::distance(offsets[1], offsets[0]), milliseconds(1));
    EXPECT_LE(media::distance(offsets[2], offsets[0]), milliseconds(1));
    for (Kind kind : {Kind::kVideo, Kind::kAudio}) {
        Time last = media::kNoTime;
        for (const Frame& frame : came) {
            if (frame.kind != kind || frame.track != 0 || frame.sequence_header) continue;
            EXPECT_GT(frame.dts, last) << "a correction must not move times back";
            last = frame.dts;
        }
    }
}

}  // namespace
}  // namespace convert
