#include "protocol/mp4/finisher.h"

#include <gtest/gtest.h>

#include <random>

#include "protocol/mp4/frames_testing.h"
#include "protocol/mp4/recording_testing.h"
#include "protocol/mp4/testing/demuxer.h"

namespace mp4 {

using media::Codec;
using media::Frame;
using media::Kind;

namespace {

// The recorded frames of each track, in order.
struct Published {
    std::vector<Frame> frames[2][media::kMaxTracks];
    void add(const Frame& frame) { frames[frame.kind == Kind::kAudio][frame.track].push_back(frame); }
    const std::vector<Frame>& of(const Track& track) const { return frames[track.kind == Kind::kAudio][track.index]; }
};

struct Shape {
    int frames = 60;
    Codec video = Codec::kH264;  // kNone: none
    Codec audio = Codec::kAac;
    uint8_t tracks = 1;  // of each kind; each audio track begins 100 ms after the one before
    int frame_ms = 40;
    int jitter_ms = 0;
    bool b_frames = true;
    int64_t begin_ms = 0;
    int64_t audio_from_ms = 0;
    size_t moov_at = 4096;
};

Frame header_for(Codec codec) {
    switch (codec) {
        case Codec::kH264:
            return h264_header();
        case Codec::kHevc:
            return hevc_header();
        case Codec::kAv1:
            return av1_header();
        case Codec::kAac:
            return aac_header();
        default:
            return frame_of(codec, base::hex("fc00"));
    }
}

// A recording of frames with random payloads, each with its own time, cut at keyframes and in between.
Recording record(const Shape& shape, Published& published, unsigned seed = 1) {
    std::mt19937 random(seed);
    Recorder recorder(shape.moov_at);
    for (Codec codec : {shape.video, shape.audio}) {
        if (codec == Codec::kNone) continue;
        for (uint8_t track = 0; track < shape.tracks; ++track)
            EXPECT_TRUE(*recorder.builder.set_header(on_track(track, header_for(codec))));
    }
    recorder.begin();
    double audio_frame = shape.audio == Codec::kAac ? 1024 / 44.1 : 20;
    std::vector<double> audio_at;
    for (int track = 0; track < shape.tracks; ++track)
        audio_at.push_back(static_cast<double>(shape.begin_ms + shape.audio_from_ms + track * 100));
    int64_t last = shape.begin_ms;
    auto add = [&](const Frame& frame) {
        EXPECT_TRUE(recorder.builder.add(frame));
        published.add(frame);
    };
    auto payload = [&](uint8_t front, size_t most) {
        std::vector<uint8_t> bytes(1 + random() % most);
        for (auto& b : bytes) b = static_cast<uint8_t>(random());
        bytes[0] = front;
        return bytes;
    };
    for (int i = 0; i < shape.frames; ++i) {
        int64_t dts = std::max(last, shape.begin_ms + i * shape.frame_ms +
                                         (shape.jitter_ms ? static_cast<int>(random() % shape.jitter_ms) : 0));
        last = dts;
        bool key = i % 12 == 0;
        if (i && (key || random() % 7 == 0))
            recorder.cut(shape.video != Codec::kNone ? std::optional(media::from_ms(dts)) : std::nullopt);
        for (uint8_t track = 0; track < shape.tracks && shape.video != Codec::kNone; ++track) {
            int32_t cts = !shape.b_frames ? 0
                          : key           ? 2 * shape.frame_ms
                                          : static_cast<int32_t>(random() % 4) * shape.frame_ms;
            add(on_track(track, frame_of(shape.video, payload(0x42, 300), dts, cts, key)));
        }
        for (uint8_t track = 0; track < shape.tracks && shape.audio != Codec::kNone; ++track) {
            for (double& at = audio_at[track]; at < static_cast<double>(dts); at += audio_frame) {
                add(on_track(track, frame_of(shape.audio, payload(0xfc & 0xf8, 60), static_cast<int64_t>(at + 0.5))));
            }
        }
    }
    recorder.cut();
    return recorder.out;
}

// Expects the samples of each track to equal the published frames, `shift` ms earlier, as far as the file contains
// them.
void expect_published(const std::vector<uint8_t>& file, const Published& published, std::optional<size_t> total = {}) {
    auto read = demux(file);
    ASSERT_TRUE(read) << read.error().text();
    size_t sum = 0;
    for (size_t i = 0; i < read->movie.tracks.size(); ++i) {
        const Track& track = read->movie.tracks[i].track;
        const auto& want = published.of(track);
        const auto& got = read->samples[i];
        sum += got.size();
        ASSERT_LE(got.size(), want.size());
        for (size_t n = 0; n < got.size(); ++n) {
            Frame frame = frame_of(file, track, got[n]);
            ASSERT_EQ(frame.payload, want[n].payload) << "track " << i << " sample " << n;
            ASSERT_EQ(frame.codec, want[n].codec);
            ASSERT_EQ(frame.keyframe, want[n].keyframe);
            const media::Time first = read->movie.fragmented ? media::Time(0) : want[0].dts;
            ASSERT_LE(media::distance(frame.dts, want[n].dts - first),
                      media::from_ms(track.kind == Kind::kVideo ? 0 : 1))
                << "track " << i << " sample " << n;
            ASSERT_EQ(frame.cts, want[n].cts);
        }
    }
    ASSERT_EQ(sum, total.value_or(sum));
}

}  // namespace

TEST(Mp4Finisher, WhatWasRecordedComesOut) {
    const Shape shapes[] = {
        {},
        {.b_frames = false},
        {.frame_ms = 33, .jitter_ms = 20},
        {.video = Codec::kHevc, .audio = Codec::kOpus},
        {.video = Codec::kAv1, .audio = Codec::kOpus, .b_frames = false},
        {.audio = Codec::kNone},
        {.video = Codec::kNone},
        {.begin_ms = 3'600'000},
        {.begin_ms = 50, .audio_from_ms = 1000},
        {.moov_at = 64 * 1024},  // enough room
        {.tracks = 2},
        {.frames = 30, .tracks = media::kMaxTracks, .begin_ms = 1000},
    };
    for (const Shape& shape : shapes) {
        for (unsigned seed = 1; seed <= 5; ++seed) {
            Published published;
            Recording recording = record(shape, published, seed);
            size_t total = recording.counts.back();
            expect_published(recording.bytes, published, total);
            for (uint64_t block : {0, 512, 4096}) {
                auto file = finished(recording.bytes, block);
                expect_published(file, published, total);
                auto again = finished(file, block);
                EXPECT_EQ(again, file);
            }
            if (HasFatalFailure()) FAIL() << "shape " << &shape - shapes << " seed " << seed;
        }
    }
}

TEST(Mp4Finisher, ThePlainFileBeginsWithItsMoov) {
    for (size_t moov_at : {size_t{4096}, size_t{64 * 1024}}) {
        for (uint64_t block : {0, 4096}) {
            Published published;
            Recording recording = record({.frames = 600, .moov_at = moov_at}, published);
            auto file = finished(recording.bytes, block);
            BoxReader boxes(file);
            std::vector<std::string> types;
            while (auto box = boxes.next()) {
                if (box->type == media::fourcc("free")) continue;
                std::string type;
                for (int shift = 24; shift >= 0; shift -= 8) type += static_cast<char>(box->type >> shift);
                types.push_back(type);
            }
            EXPECT_TRUE(boxes.ok());
            EXPECT_EQ(types, (std::vector<std::string>{"ftyp", "moov", "mdat"}));
            // Not rewritten: the media data is the recording's own bytes, at a later offset.
            size_t media = recording.bytes.size() - moov_at;
            EXPECT_TRUE(std::equal(recording.bytes.end() - static_cast<ptrdiff_t>(media), recording.bytes.end(),
                                   file.end() - static_cast<ptrdiff_t>(media)));
        }
    }
}

TEST(Mp4Finisher, TheMovieBeginsWithWhatIsShownFirst) {
    Recorder recorder;
    ASSERT_TRUE(*recorder.builder.set_header(h264_header()));
    ASSERT_TRUE(*recorder.builder.set_header(aac_header()));
    recorder.begin();
    ASSERT_TRUE(recorder.builder.add(frame_of(Codec::kH264, 9, 1, 7000, 80, true)));
    ASSERT_TRUE(recorder.builder.add(frame_of(Codec::kH264, 9, 1, 7040, 120)));
    ASSERT_TRUE(recorder.builder.add(frame_of(Codec::kAac, 9, 1, 8000)));
    recorder.cut(media::from_ms(7080));
    auto file = finished(recorder.out.bytes, 4096);
    auto read = demux(file);
    ASSERT_TRUE(read);
    // Video: first presented 80 ms after its first decoding time. Audio: 920 ms after that, exact to the ms.
    ASSERT_EQ(read->movie.tracks[0].edits.size(), 1u);
    EXPECT_EQ(read->movie.tracks[0].edits[0].media_time, 80 * 90);
    ASSERT_EQ(read->movie.tracks[1].edits.size(), 2u);
    EXPECT_EQ(read->movie.tracks[1].edits[0].media_time, -1);
    EXPECT_EQ(read->movie.tracks[1].edits[0].duration, 920u);
    EXPECT_EQ(read->movie.tracks[1].edits[1].media_time, 0);
}

// An offset is off by half a tick of the movie's time scale, and of those of its two tracks, at most.
TEST(Mp4Finisher, OffsetsBetweenTracksAreExact) {
    struct Case {
        media::Time audio_later;  // than video; less than 0: earlier
        uint32_t movie_timescale;
    };
    using std::chrono::milliseconds;
    const Case cases[] = {
        {media::Time(0), 1000},
        {milliseconds(23), 1000},  // 1,014.3 samples
        {milliseconds(-23), 1000},
        {milliseconds(3'600'001), 1000},
        {media::from_us(500), 90'000},
        {media::from_us(-1'499), 90'000},
        {media::from_ticks(1, 90'000) * 2'000'001, 90'000},
        {media::from_ticks(1024, 44'100) * -3, 90'000},
    };
    for (const Case& c : cases) {
        Recorder recorder;
        ASSERT_TRUE(*recorder.builder.set_header(h264_header()));
        ASSERT_TRUE(*recorder.builder.set_header(aac_header()));
        recorder.begin();
        Frame video = frame_of(Codec::kH264, 9, 1, 7000, 0, true), audio = frame_of(Codec::kAac, 9, 1, 7000);
        audio.dts += c.audio_later;
        ASSERT_TRUE(recorder.builder.add(video) && recorder.builder.add(audio));
        recorder.cut();
        auto file = finished(recorder.out.bytes, 4096);
        auto read = demux(file);
        ASSERT_TRUE(read);
        EXPECT_EQ(read->movie.timescale, c.movie_timescale) << c.audio_later.count();
        auto begin = [&](size_t track) {
            const auto& edits = read->movie.tracks[track].edits;
            if (edits.empty() || edits[0].media_time != -1) return media::Time(0);
            return media::from_ticks(static_cast<int64_t>(edits[0].duration), read->movie.timescale);
        };
        media::Time tolerance(1);
        for (uint32_t scale : {read->movie.timescale, kVideoTimescale, 44'100u})
            tolerance += media::from_ticks(1, scale) / 2;
        EXPECT_LE(media::distance(begin(1) - begin(0), c.audio_later), tolerance) << c.audio_later.count();
    }
}

namespace {

void tear_anywhere(const Shape& shape) {
    Published published;
    Recording recording = record(shape, published);
    for (size_t size = 0; size <= recording.bytes.size(); ++size) {
        // The end as a crash leaves it, and padded with zeros as a writer of whole blocks leaves it.
        for (size_t zeros : {size_t{0}, 4096 - size % 4096}) {
            std::vector<uint8_t> file(recording.bytes.begin(), recording.bytes.begin() + static_cast<ptrdiff_t>(size));
            file.resize(size + zeros);
            size_t whole = 0;
            // A fragment ends with its seal, but at the very end of the file no seal is needed.
            for (size_t i = 0; i < recording.ends.size(); ++i) {
                if (size >= recording.ends[i] || (zeros == 0 && size == recording.ends[i] - 8))
                    whole = recording.counts[i];
            }
            auto done = finish_in_memory(file, 4096);
            ASSERT_EQ(done.has_value(), whole > 0) << size << " bytes and " << zeros << " zeros";
            if (!done) {
                ASSERT_FALSE(done.error().text().empty());
                continue;
            }
            expect_published(file, published, whole);
            ASSERT_FALSE(testing::Test::HasFatalFailure()) << size << " bytes and " << zeros << " zeros";
        }
    }
}

}  // namespace

TEST(Mp4Finisher, TornAnywhere) { tear_anywhere({.frames = 40}); }
TEST(Mp4Finisher, SeveralTracksTornAnywhere) { tear_anywhere({.frames = 20, .tracks = 2}); }

namespace {

void kill_while_finishing(uint8_t tracks) {
    Published published;
    // With little room blocks are inserted, with much room none are.
    for (size_t moov_at : {size_t{4096}, size_t{64 * 1024}}) {
        Recording recording = record({.frames = 200, .tracks = tracks, .moov_at = moov_at}, published);
        size_t total = recording.counts.back();
        auto expected = finished(recording.bytes, 4096);
        for (size_t steps = 0; steps < 200; ++steps) {
            auto file = recording.bytes;
            ASSERT_TRUE(finish_in_memory(file, 4096, steps));
            // The file can be played except between inserting the room and writing its size.
            bool between = moov_at == 4096 && steps == 1;
            if (!between) expect_published(file, published, total);
            ASSERT_TRUE(finish_in_memory(file, 4096)) << steps;
            expect_published(file, published, total);
            ASSERT_FALSE(testing::Test::HasFatalFailure()) << steps;
            ASSERT_EQ(file, expected) << steps;
        }
    }
}

}  // namespace

TEST(Mp4Finisher, KilledWhileFinishing) { kill_while_finishing(1); }
TEST(Mp4Finisher, KilledWhileFinishingSeveralTracks) { kill_while_finishing(3); }

// Its samples are not the recording's: counted, they made a recording without any of its own overflow.
TEST(Mp4Finisher, APlainMoovEndsTheRecording) {
    Published published;
    Recording recording = record({.frames = 10}, published);
    auto plain_file = finished(recording.bytes, 0);
    auto plain = moov_of(plain_file);
    std::vector<uint8_t> moov;
    BoxWriter w(moov);
    {
        auto box = w.box("moov");
        w.bytes(plain);
    }
    for (bool has_fragment : {false, true}) {
        Recorder recorder;
        ASSERT_TRUE(*recorder.builder.set_header(h264_header()));
        recorder.begin();
        for (int64_t i = 0; i < 2; ++i) {
            if (has_fragment || i == 1) {
                ASSERT_TRUE(recorder.builder.add(frame_of(Codec::kH264, 9, 1, i, 0, true)));
            }
            recorder.cut();
            if (i == 0) recorder.append(moov);
        }
        Finisher finisher(recorder.out.bytes.size());
        EXPECT_EQ(scan(finisher, recorder.out.bytes).has_value(), has_fragment);
        EXPECT_EQ(finisher.samples(), has_fragment);
        EXPECT_FALSE(finisher.finished_already());
    }
}

TEST(Mp4Finisher, AnotherResolutionIsAnotherEntry) {
    Recorder recorder;
    Published published;
    auto add = [&](const Frame& frame) {
        ASSERT_TRUE(recorder.builder.add(frame));
        published.add(frame);
    };
    Frame other =
        header_of(Codec::kH264, "01640020ffe1001967640020acd940c029b011000003000100000300320f18319601000568ebecb22d");
    ASSERT_TRUE(*recorder.builder.set_header(h264_header()));
    recorder.begin();
    add(frame_of(Codec::kH264, 5, 1, 0, 0, true));
    recorder.cut(media::from_ms(40));
    ASSERT_TRUE(*recorder.builder.set_header(other));
    recorder.append(recorder.builder.moov());
    add(frame_of(Codec::kH264, 6, 2, 40, 0, true));
    add(frame_of(Codec::kH264, 7, 3, 80));
    recorder.cut(media::from_ms(120));
    // A track that begins later.
    ASSERT_TRUE(*recorder.builder.set_header(aac_header()));
    ASSERT_TRUE(*recorder.builder.set_header(h264_header()));
    recorder.append(recorder.builder.moov());
    add(frame_of(Codec::kH264, 8, 4, 120, 0, true));
    add(frame_of(Codec::kAac, 9, 5, 120));
    recorder.cut();
    for (uint64_t block : {0, 4096}) {
        auto file = finished(recorder.out.bytes, block);
        expect_published(file, published, 5);
        auto read = demux(file);
        ASSERT_TRUE(read);
        ASSERT_EQ(read->movie.tracks.size(), 2u);
        const Track& track = read->movie.tracks[0].track;
        ASSERT_EQ(track.entries.size(), 2u);
        EXPECT_EQ(header_of(track, track.entries[0])->payload, h264_header().payload);
        EXPECT_EQ(header_of(track, track.entries[1])->payload, other.payload);
        std::vector<uint32_t> descriptions;
        for (const Sample& s : read->samples[0]) descriptions.push_back(s.description);
        EXPECT_EQ(descriptions, (std::vector<uint32_t>{1, 2, 2, 1}));
        ASSERT_EQ(read->movie.tracks[1].edits.size(), 2u);
        EXPECT_EQ(read->movie.tracks[1].edits[0].duration, 120u);
    }
}

TEST(Mp4Finisher, TimesBelowZeroAreLifted) {
    Recorder recorder;
    ASSERT_TRUE(*recorder.builder.set_header(h264_header()));
    recorder.begin();
    ASSERT_TRUE(recorder.builder.add(frame_of(Codec::kH264, 5, 1, 100, -20, true)));
    ASSERT_TRUE(recorder.builder.add(frame_of(Codec::kH264, 5, 1, 140, 0)));
    recorder.cut();
    auto file = finished(recorder.out.bytes, 4096);
    auto read = demux(file);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->samples[0][0].cts, 0);
    EXPECT_EQ(read->samples[0][1].cts, 20 * 90);
    EXPECT_TRUE(read->movie.tracks[0].edits.empty());
}

TEST(Mp4Finisher, NoRecording) {
    struct Case {
        std::vector<uint8_t> file;
        base::Code code;
    };
    Recorder recorder;
    ASSERT_TRUE(*recorder.builder.set_header(h264_header()));
    recorder.begin();
    const auto& head = recorder.out.bytes;
    const Case cases[] = {
        {{}, base::Code::kNotFound},
        {std::vector<uint8_t>(10'000), base::Code::kNotFound},
        {std::vector<uint8_t>(5'000'000), base::Code::kProtocol},
        {head, base::Code::kNotFound},
        {{head.begin(), head.begin() + 3}, base::Code::kNotFound},
        {{head.begin(), head.begin() + 20}, base::Code::kNotFound},
        {{head.begin(), head.begin() + 1000}, base::Code::kNotFound},
        {{head.begin(), head.begin() + 4100}, base::Code::kNotFound},
        {{head.begin(), head.end() - 1}, base::Code::kNotFound},
        {base::hex("464c5601 05 00000009 00000000 12000000"), base::Code::kProtocol},
        {base::hex("00000010 66747970 69736f36 00000000 00000008 6d646174"), base::Code::kProtocol},
    };
    for (const Case& c : cases) {
        Finisher finisher(c.file.size());
        auto done = scan(finisher, c.file);
        ASSERT_FALSE(done) << c.file.size();
        EXPECT_EQ(done.error().code(), c.code) << &c - cases;
    }
}

TEST(Mp4Finisher, FilesAboveFourGigabytesHaveLongOffsets) {
    // Only the heads of the fragments are read, so the file need not exist.
    Recorder recorder;
    ASSERT_TRUE(*recorder.builder.set_header(h264_header()));
    recorder.begin();
    size_t head = recorder.out.bytes.size();
    ASSERT_TRUE(recorder.builder.add(frame_of(Codec::kH264, 5, 1, 0, 0, true)));
    recorder.cut();
    std::vector<uint8_t> fragment(recorder.out.bytes.begin() + static_cast<ptrdiff_t>(head), recorder.out.bytes.end());
    // A free box of 5 GB between the head and the fragment.
    std::vector<uint8_t> gap;
    BoxWriter w(gap);
    w.u32(1);
    w.type("free");
    w.u64(5'000'000'000);
    uint64_t fragment_at = head + 5'000'000'000;
    Finisher finisher(fragment_at + fragment.size());
    while (auto want = finisher.want()) {
        std::vector<uint8_t> bytes;
        if (want->offset < head) {
            bytes.assign(recorder.out.bytes.begin() + static_cast<ptrdiff_t>(want->offset),
                         recorder.out.bytes.begin() + static_cast<ptrdiff_t>(head));
            bytes.insert(bytes.end(), gap.begin(), gap.end());
            bytes.resize(want->size);
        } else if (want->offset == head) {
            bytes = gap;
            bytes.resize(want->size);
        } else {
            ASSERT_EQ(want->offset, fragment_at);
            bytes = fragment;
        }
        bytes.resize(std::min(bytes.size(), want->size));
        ASSERT_TRUE(finisher.feed(bytes));
    }
    auto plan = finisher.plan(4096);
    ASSERT_TRUE(plan);
    std::vector<uint8_t> written;
    for (auto piece : plan->pieces) written.insert(written.end(), piece.begin(), piece.end());
    auto box = BoxReader(written).next();
    ASSERT_TRUE(box);
    auto movie = parse_moov(box->payload);
    ASSERT_TRUE(movie);
    ASSERT_TRUE(movie->tracks[0].tables.long_offsets);
    base::ByteReader offset(movie->tracks[0].tables.chunk_offsets);
    EXPECT_EQ(offset.u64(), fragment_at + fragment.size() - 8 - 5 + plan->insert_size);
}

}  // namespace mp4
