// Several tracks of a kind: the tables, the muxers, and the way back through the demuxer.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "protocol/ts/conformance_testing.h"
#include "protocol/ts/crc32.h"
#include "protocol/ts/demuxer.h"
#include "protocol/ts/frame_reader.h"
#include "protocol/ts/program_reader.h"
#include "protocol/ts/segment_muxer.h"
#include "protocol/ts/ts_testing.h"

namespace ts {
namespace {

using media::Codec;
using media::Frame;
using media::Kind;
using testing::audio_frame;
using testing::on_track;
using testing::PacketCollector;
using testing::track;
using testing::video_frame;
using Bytes = std::vector<uint8_t>;

struct TrackCollector final : DemuxerSink {
    std::vector<Frame> frames;  // without sequence headers
    std::vector<Frame> headers;
    std::vector<ProgramMap> programs;
    FrameReader reader{[this](Frame frame) {
        auto& to = frame.sequence_header ? headers : frames;
        to.push_back(std::move(frame));
    }};
    Demuxer demuxer{*this};
    void on_pes(PesPacket packet) override { reader.take(packet); }
    void on_program(const ProgramMap& program) override { programs.push_back(program); }
    void take(std::span<const uint8_t> bytes) {
        demuxer.feed(bytes);
        demuxer.finish();
        const DemuxerCounters& counters = demuxer.counters();
        EXPECT_EQ(counters.bad_tables + counters.bad_pes + counters.continuity_errors + counters.duplicates, 0u);
        EXPECT_EQ(reader.damaged() + reader.unreadable(), 0u);
    }
};

// "100:H264 101:AAC eng ..."; the PCR's PID is marked.
std::string text(const ProgramMap& map) {
    std::string all;
    for (const ElementaryStream& stream : map.streams) {
        all += fmt::format("{}{:x}{}:{}", all.empty() ? "" : " ", stream.pid, stream.pid == map.pcr_pid ? "*" : "",
                           media::codec_info(stream.codec).name);
        if (stream.language != media::Language{}) all += " " + media::to_string(stream.language);
    }
    return all;
}

Frame second_avc_header() {
    auto sps = testing::sps();
    sps[1] = 0x4d;
    return on_track(1, testing::header(Codec::kH264, media::make_avc_config(sps, testing::pps()).value()));
}

Frame aac_header(uint8_t index, uint8_t channels) {
    return on_track(index, testing::header(Codec::kAac, media::make_aac_config(2, 48'000, channels)));
}

// H.264 twice; AAC in English, AAC in German (by its BCP 47 code), MP3 of no known language.
std::vector<media::Track> five_tracks() {
    return {track(testing::avc_header()), track(second_avc_header()), track(aac_header(0, 2), "eng"),
            track(aac_header(1, 1), "de-AT"), track(Codec::kMp3, 2)};
}

Frame mp3_frame(uint8_t seed) {
    Bytes payload(417, seed);
    std::ranges::copy(base::hex("ff fb 90 64"), payload.begin());  // 44.1 kHz, 128 kbit/s
    return on_track(2, testing::frame(Codec::kMp3, base::Slice::copy(payload)));
}

// By time, video before audio; the times are whole ticks of 90 kHz.
std::vector<Frame> five_tracks_of(int64_t ms) {
    std::vector<Frame> frames;
    for (int64_t at = 0; at < ms; at += 40)
        for (uint8_t index : {0, 1}) {
            auto bytes = static_cast<size_t>(at % 7 * 300 + index * 100 + 20);
            frames.push_back(on_track(index, video_frame(at, at % 1000 == 0, bytes, at % 3 == 1 ? 40 : 0)));
        }
    for (uint8_t index : {0, 1})
        for (int64_t n = 0; n * 1024 < ms * 48; ++n) {
            frames.push_back(on_track(index, audio_frame(0, static_cast<size_t>(n % 50 * 9 + index + 1))));
            frames.back().dts = media::from_ticks(n * 1024, 48'000);
        }
    for (int64_t n = 0; n * 26 < ms; ++n) {
        frames.push_back(mp3_frame(static_cast<uint8_t>(n % 250 + 1)));
        frames.back().dts = media::from_ms(n * 26);
    }
    std::ranges::stable_sort(frames, {}, &Frame::dts);
    return frames;
}

std::vector<Frame> of_track(const std::vector<Frame>& frames, Kind kind, uint8_t index) {
    std::vector<Frame> out;
    for (const Frame& frame : frames)
        if (frame.kind == kind && frame.track == index) out.push_back(frame);
    return out;
}

Bytes muxed(Muxer& muxer, const Frame& frame) {
    Bytes out(muxer.prepare(frame));
    EXPECT_EQ(muxer.write(out.data()), out.data() + out.size());
    return out;
}

// Opus tracks with a language take the most room in the map.
Program large_program(size_t videos, size_t audios) {
    Program program;
    for (size_t i = 0; i < videos; ++i) program.video[i].codec = Codec::kHevc;
    for (size_t i = 0; i < audios; ++i) program.audio[i] = {Codec::kOpus, 2, false, media::language_of("eng")};
    return program;
}

}  // namespace

TEST(Program, TheMapTakesAsManyPacketsAsItNeeds) {
    uint8_t pat_cc = 3, pmt_cc = 15;
    TrackCollector back;
    uint8_t version = 0;
    for (size_t videos = 0; videos <= media::kMaxTracks; ++videos) {
        for (size_t audios = videos == 0; audios <= media::kMaxTracks; ++audios) {
            const Program program = large_program(videos, audios);
            const size_t section = 16 + videos * 11 + audios * 21;
            ASSERT_EQ(map_packets(program), section <= 183 ? 1u : 2u);
            ASSERT_LE(tables_size(program), kMaxTablesSize);
            Bytes out(tables_size(program));
            ASSERT_EQ(put_tables(out.data(), program, version, pat_cc, pmt_cc), out.data() + out.size());
            version = (version + 1) & 31;
            pat_cc = (pat_cc + 1) & 15;
            pmt_cc = static_cast<uint8_t>((pmt_cc + map_packets(program)) & 15);
            back.take(out);
            const auto& streams = back.programs.back().streams;
            ASSERT_EQ(streams.size(), videos + audios);
            for (size_t i = 0; i < streams.size(); ++i) {
                const bool video = i < videos;
                const auto index = static_cast<uint8_t>(video ? i : i - videos);
                EXPECT_EQ(streams[i].track, index);
                EXPECT_EQ(streams[i].pid, pid_of(video ? Kind::kVideo : Kind::kAudio, index));
                EXPECT_EQ(media::to_string(streams[i].language), video ? "" : "eng");
            }
        }
    }
    EXPECT_EQ(back.programs.size(), 80u);
    EXPECT_EQ(kMaxTablesSize, tables_size(large_program(media::kMaxTracks, media::kMaxTracks)));
}

TEST(Program, TheLanguageIsInADescriptor) {
    Program program = testing::program(Codec::kH264, Codec::kAac);
    program.audio[0].language = media::language_of("eng");
    uint8_t out[2 * kPacketSize];
    put_tables(out, program, 0, 0, 0);
    auto audio = base::hex("0f e1 01 f0 06 0a 04 65 6e 67 00");
    EXPECT_EQ(Bytes(out + kPacketSize + 22, out + kPacketSize + 33), audio);
}

TEST(Program, TheFirstTrackHasTheClock) {
    Program program;
    EXPECT_TRUE(program.empty());
    program.audio[3].codec = Codec::kAac;
    EXPECT_EQ(program.pcr_pid(), 0x107);
    program.audio[1].codec = Codec::kAac;
    EXPECT_EQ(program.pcr_pid(), 0x103);
    EXPECT_FALSE(program.has_video());
    program.video[7].codec = Codec::kH264;
    EXPECT_EQ(program.pcr_pid(), 0x10e);
    EXPECT_TRUE(program.has_video());
}

TEST(Tracks, ThroughTheMuxerAndBack) {
    const auto frames = five_tracks_of(4000);
    for (int64_t pes_ms : {0, 200}) {
        SCOPED_TRACE(pes_ms);
        SegmentMuxer muxer({.audio_pes = media::from_ms(pes_ms)});
        muxer.set_tracks(five_tracks());
        testing::Conformance conformance;
        TrackCollector back;
        PacketCollector sink;
        auto end_segment = [&] {
            muxer.flush(sink);
            conformance.segment(sink.bytes);
            back.take(sink.bytes);
            sink.bytes.clear();
        };
        for (const Frame& frame : frames) {
            if (frame.keyframe && frame.track == 0) {
                if (frame.dts > media::Time(0)) end_segment();
                muxer.begin_segment();
            }
            ASSERT_TRUE(muxer.write(frame, sink));
        }
        end_segment();
        EXPECT_EQ(conformance.text(), "");
        EXPECT_EQ(conformance.pes_packets.size(), 5u);
        ASSERT_EQ(back.programs.size(), 1u);
        EXPECT_EQ(text(back.programs[0]), "100*:H264 102:H264 101:AAC eng 103:AAC deu 105:MP3");
        ASSERT_EQ(back.headers.size(), 4u);
        for (const media::Track& one : five_tracks()) {
            auto header = of_track(back.headers, one.kind, one.index);
            ASSERT_EQ(header.size(), one.config() ? 1u : 0u);
            if (one.config()) {
                EXPECT_EQ(header[0].payload, one.config()->payload);
            }
            auto in = of_track(frames, one.kind, one.index), out = of_track(back.frames, one.kind, one.index);
            ASSERT_EQ(in.size(), out.size());
            for (size_t i = 0; i < in.size(); ++i) {
                // Inside a PES packet times are counted in samples, of which MP3's are not 26 ms.
                if (one.codec == Codec::kMp3 && pes_ms > 0)
                    EXPECT_LE(media::distance(in[i].dts + media::from_ms(700), out[i].dts), media::from_ms(2));
                else
                    ASSERT_EQ(in[i].dts + media::from_ms(700), out[i].dts) << i;
                ASSERT_EQ(in[i].cts, out[i].cts);
                ASSERT_EQ(in[i].keyframe, out[i].keyframe);
                ASSERT_EQ(in[i].codec, out[i].codec);
                ASSERT_EQ(in[i].payload, out[i].payload) << i;
            }
        }
    }
}

TEST(Tracks, AreCombinedEachForItself) {
    SegmentMuxer muxer;
    muxer.set_tracks(five_tracks());
    PacketCollector sink;
    ASSERT_TRUE(muxer.write(video_frame(0, true, 20), sink));
    const size_t before = sink.bytes.size();
    for (int64_t at = 0; at < 100; at += 20)
        for (uint8_t index : {0, 1}) ASSERT_TRUE(muxer.write(on_track(index, audio_frame(at, 50)), sink));
    EXPECT_EQ(sink.bytes.size(), before);
    // A new configuration of one track concerns that track only.
    ASSERT_TRUE(muxer.write(aac_header(1, 2), sink));
    EXPECT_EQ(sink.bytes.size(), before + 2 * kPacketSize);
    muxer.flush(sink);
    EXPECT_EQ(sink.bytes.size(), before + 4 * kPacketSize);
    TrackCollector back;
    back.take(sink.bytes);
    EXPECT_EQ(of_track(back.frames, Kind::kAudio, 0).size(), 5u);
    EXPECT_EQ(of_track(back.frames, Kind::kAudio, 1).size(), 5u);
}

TEST(Tracks, WithoutVideoTheFirstAudioHasTheClock) {
    SegmentMuxer muxer;
    const std::vector<media::Track> tracks = {track(aac_header(1, 2), "fra"), track(aac_header(4, 2), "ita")};
    muxer.set_tracks(tracks);
    testing::Conformance conformance;
    TrackCollector back;
    PacketCollector sink;
    for (int64_t n = 0; n < 200; ++n)
        for (uint8_t index : {4, 1}) {
            Frame frame = on_track(index, audio_frame(0, 50));
            frame.dts = media::from_ticks(n * 1024, 48'000);
            ASSERT_TRUE(muxer.write(frame, sink));
        }
    muxer.flush(sink);
    conformance.segment(sink.bytes);
    EXPECT_EQ(conformance.text(), "");
    EXPECT_GT(conformance.clocks, 40u);
    back.take(sink.bytes);
    EXPECT_EQ(text(back.programs[0]), "103*:AAC fra 109:AAC ita");
    EXPECT_EQ(of_track(back.frames, Kind::kAudio, 0).size(), 200u);
    EXPECT_EQ(of_track(back.frames, Kind::kAudio, 1).size(), 200u);
}

TEST(Tracks, ANewTrackIsANewVersion) {
    Muxer muxer;
    TrackCollector back;
    ASSERT_TRUE(muxer.set_header(testing::avc_header()));
    ASSERT_TRUE(muxer.set_header(testing::aac_header()));
    back.take(muxed(muxer, video_frame(0, true, 20)));
    ASSERT_TRUE(muxer.set_header(on_track(1, testing::aac_header())));
    back.take(muxed(muxer, video_frame(40, false, 20)));
    back.take(muxed(muxer, on_track(1, audio_frame(40, 20))));
    // A codec without a sequence header is known from its first frame.
    back.take(muxed(muxer, mp3_frame(1)));
    muxer.set_tracks(five_tracks());
    back.take(muxed(muxer, video_frame(80, false, 20)));
    // Only the language differs.
    auto tracks = five_tracks();
    tracks[2].language = "fr";
    muxer.set_tracks(tracks);
    back.take(muxed(muxer, video_frame(120, false, 20)));
    muxer.set_tracks(tracks);
    back.take(muxed(muxer, video_frame(160, false, 20)));
    std::vector<std::string> programs;
    for (const ProgramMap& map : back.programs) programs.push_back(fmt::format("v{} {}", map.version, text(map)));
    EXPECT_EQ(programs, (std::vector<std::string>{"v0 100*:H264 101:AAC", "v1 100*:H264 101:AAC 103:AAC",
                                                  "v2 100*:H264 101:AAC 103:AAC 105:MP3",
                                                  "v3 100*:H264 102:H264 101:AAC eng 103:AAC deu 105:MP3",
                                                  "v4 100*:H264 102:H264 101:AAC fra 103:AAC deu 105:MP3"}));
}

TEST(Tracks, WhatIsNoTrackIsNoBytes) {
    Muxer muxer;
    muxer.set_tracks(five_tracks());
    EXPECT_EQ(muxer.prepare(on_track(2, video_frame(0, true, 20))), 0u);
    EXPECT_EQ(muxer.prepare(on_track(3, audio_frame(0, 20))), 0u);
    for (uint8_t index : {media::kMaxTracks, uint8_t{255}}) {
        EXPECT_FALSE(muxer.set_header(on_track(index, testing::avc_header())));
        EXPECT_FALSE(muxer.set_header(on_track(index, testing::aac_header())));
        EXPECT_EQ(muxer.prepare(on_track(index, video_frame(0, true, 20))), 0u);
        EXPECT_EQ(muxer.prepare(on_track(index, audio_frame(0, 20, Codec::kMp3))), 0u);
        uint8_t header[AudioElementary::kMaxHeader];
        EXPECT_FALSE(muxer.put_audio_header(on_track(index, audio_frame(0, 20, Codec::kMp3)), header));
        const media::Track beyond[] = {track(on_track(index, testing::avc_header())), track(Codec::kMp3, index)};
        Muxer other;
        other.set_tracks(beyond);
        EXPECT_TRUE(other.program().empty());
    }
    // A bad header of one track leaves the others.
    EXPECT_FALSE(muxer.set_header(on_track(1, testing::header(Codec::kAac, base::Slice::copy("")))));
    EXPECT_EQ(muxer.prepare(on_track(1, audio_frame(0, 20))), 0u);
    EXPECT_GT(muxer.prepare(audio_frame(0, 20)), 0u);
    // What is prepared ends with a change of the tracks: the frame's pieces may be in a header that is gone.
    Bytes out(muxer.prepare(video_frame(0, true, 20)));
    ASSERT_TRUE(muxer.set_header(testing::avc_header()));
    EXPECT_EQ(muxer.write(out.data()), out.data());
}

TEST(Tracks, AReceiverMayStartAtAnyFrame) {
    // The map of these takes two packets.
    std::vector<media::Track> tracks = {track(testing::avc_header())};
    for (uint8_t i = 0; i < media::kMaxTracks; ++i) tracks.push_back(track(Codec::kOpus, i, "eng"));
    Muxer muxer({.tables_at_keyframes = true});
    muxer.set_tracks(tracks);
    std::vector<Bytes> written;
    std::vector<Muxer::StartPoint> points;
    for (int64_t at = 0; at < 4000; at += 40) {
        written.push_back(muxed(muxer, video_frame(at, at % 80 == 0, 20)));
        points.push_back(muxer.start_point());
    }
    for (size_t start = 0; start < written.size(); ++start) {
        Bytes bytes;
        if (!points[start].has_tables) {
            bytes.resize(kMaxTablesSize);
            EXPECT_EQ(Muxer::put_tables_at(tracks, points[start], bytes.data()), bytes.data() + bytes.size());
        }
        for (size_t i = start; i < std::min(start + 4, written.size()); ++i)
            bytes.insert(bytes.end(), written[i].begin(), written[i].end());
        TrackCollector back;
        back.take(bytes);
        EXPECT_EQ(back.frames.size(), std::min(start + 4, written.size()) - start);
        ASSERT_EQ(back.programs.size(), 1u);
        EXPECT_EQ(back.programs[0].streams.size(), 9u);
    }
}

// With its length and its checksum.
Bytes finished(Bytes section) {
    section[1] = static_cast<uint8_t>(0xb0 | (section.size() + 1) >> 8);
    section[2] = static_cast<uint8_t>(section.size() + 1);
    Bytes with_crc(section.size() + 4);
    std::ranges::copy(section, with_crc.begin());
    base::put_u32(with_crc.data() + section.size(), crc32(section));
    return with_crc;
}

TEST(Demuxer, ReadsOnlySoManyTracks) {
    // Ten video and ten audio streams, of which one has the PID of another, and one of an unknown type.
    Bytes section = base::hex("02 b0 00 00 01 c1 00 00 e1 00 f0 00 42 e2 00 f0 00");
    for (uint8_t i = 0; i < 10; ++i)
        for (uint8_t type : {kH264, kAdtsAac}) {
            const uint8_t low = static_cast<uint8_t>(type == kH264 ? i : i == 1 ? 0x80 : 0x80 + i);
            section.insert(section.end(), {type, 0xe1, low, 0xf0, 0});
        }
    auto map = read_program_map(finished(section), Demuxer::kMaxStreams);
    ASSERT_TRUE(map);
    EXPECT_EQ(map->streams.size(), 17u);
    EXPECT_EQ(map->skipped, 4u);
    std::map<Kind, uint8_t> next;
    for (const ElementaryStream& stream : map->streams)
        if (stream.codec != Codec::kNone) {
            EXPECT_EQ(stream.track, next[media::codec_info(stream.codec).kind]++);
        }
}

// Its header would be one that nobody reads.
TEST(Demuxer, AnOpusStreamHasChannels) {
    for (const auto& [code, channels] : {std::pair(0, 2), {1, 1}, {6, 6}, {8, 8}, {9, 2}, {0x81, 2}}) {
        Bytes section = base::hex("02 b0 00 00 01 c1 00 00 e1 00 f0 00 06 e1 00 f0 0a 05 04 4f 70 75 73 7f 02 80");
        section.push_back(static_cast<uint8_t>(code));
        auto map = read_program_map(finished(section), Demuxer::kMaxStreams);
        ASSERT_TRUE(map && map->streams.size() == 1) << code;
        EXPECT_EQ(map->streams[0].codec, Codec::kOpus);
        EXPECT_EQ(map->streams[0].opus_channels, channels) << code;
    }
}

// A program that gets other PIDs again and again costs no memory, and each time the header comes again.
TEST(FrameReader, ATrackMovesToAnotherPid) {
    TrackCollector back;
    for (uint16_t pid = 0x100; pid < 0x200; ++pid) {
        PesPacket packet;
        packet.stream = {.pid = pid, .stream_type = kPrivateData, .codec = Codec::kOpus};
        packet.pts = packet.dts = pid;
        packet.payload = base::Slice::copy(base::hex("7f e0 03 7c 01 02"));
        back.reader.take(packet);
    }
    EXPECT_EQ(back.headers.size(), 256u);
    EXPECT_EQ(back.frames.size(), 256u);
    EXPECT_LT(sizeof(FrameReader), 4000u);
}

// Their configuration would have to be read from a program config element (ISO/IEC 14496-3, 4.5.1.2).
TEST(FrameReader, AdtsWithoutChannelsIsNotRead) {
    size_t frames = 0;
    FrameReader reader([&](const media::Frame&) { ++frames; });
    for (const char* adts : {"ff f1 50 00 01 3f fc 01 02", "ff f1 50 40 01 3f fc 01 02"}) {
        PesPacket packet;
        packet.stream = {.pid = 0x100, .stream_type = kAdtsAac, .codec = Codec::kAac};
        packet.pts = packet.dts = 0;
        packet.payload = base::Slice::copy(base::hex(adts));
        reader.take(packet);
        EXPECT_EQ(reader.unreadable(), 1u) << adts;
    }
    EXPECT_EQ(frames, 2u) << "the second one's configuration, and its frame";
}

}  // namespace ts
