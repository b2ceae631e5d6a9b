// The finisher with recordings of several tracks of a kind.

#include <gtest/gtest.h>

#include "protocol/mp4/frames_testing.h"
#include "protocol/mp4/recording_testing.h"
#include "protocol/mp4/testing/demuxer.h"

namespace mp4 {

using media::Codec;
using media::Frame;
using media::Kind;

namespace {

// What a finished or growing file says of each track, in the order of its boxes.
struct Entry {
    uint32_t id;
    Kind kind;
    int flags;  // of tkhd: 1 enabled, 2 in the movie
    int alternate_group;
    friend bool operator==(const Entry&, const Entry&) = default;
};

std::vector<Entry> entries_of(std::span<const uint8_t> moov) {
    std::vector<Entry> out;
    auto movie = parse_moov(moov);
    EXPECT_TRUE(movie);
    BoxReader boxes(moov);
    while (auto box = boxes.next()) {
        if (box->type != media::fourcc("trak")) continue;
        auto tkhd = BoxReader(box->payload).next()->payload;
        const Track& track = movie->tracks[out.size()].track;
        out.push_back({track.id, track.kind, tkhd[3], tkhd[46] << 8 | tkhd[47]});
    }
    return out;
}

}  // namespace

TEST(Mp4Finisher, SeveralTracksStayInStep) {
    Recorder recorder;
    FragmentBuilder& builder = recorder.builder;
    ASSERT_TRUE(*builder.set_header(h264_header()));
    // The second audio track comes first, and its file goes on when the first one comes.
    ASSERT_TRUE(*builder.set_header(on_track(1, aac_header())));
    EXPECT_EQ(entries_of(moov_of(builder.init_segment())),
              (std::vector<Entry>{{1, Kind::kVideo, 3, 0}, {2, Kind::kAudio, 3, 0}}));
    recorder.begin();
    ASSERT_TRUE(builder.add(frame_of(Codec::kH264, 9, 1, 7000, 80, true)));
    ASSERT_TRUE(builder.add(on_track(1, frame_of(Codec::kAac, 9, 2, 7030))));
    recorder.cut();
    ASSERT_TRUE(*builder.set_header(aac_header("1190")));
    ASSERT_TRUE(*builder.set_header(on_track(1, hevc_header())));
    const std::vector<Entry> four = {
        {1, Kind::kVideo, 3, 2}, {3, Kind::kAudio, 3, 1}, {2, Kind::kAudio, 2, 1}, {4, Kind::kVideo, 2, 2}};
    recorder.append(builder.moov());
    EXPECT_EQ(entries_of(moov_of(builder.init_segment())), four);
    ASSERT_TRUE(builder.add(on_track(1, frame_of(Codec::kHevc, 9, 3, 8000, 0, true))));
    ASSERT_TRUE(builder.add(frame_of(Codec::kAac, 9, 4, 8010)));
    ASSERT_TRUE(builder.add(on_track(1, frame_of(Codec::kAac, 9, 5, 8020))));
    recorder.cut();
    for (uint64_t block : {0, 4096}) {
        auto file = finished(recorder.out.bytes, block);
        EXPECT_EQ(entries_of(moov_of(file)), four);
        auto read = demux(file);
        ASSERT_TRUE(read);
        ASSERT_EQ(read->movie.tracks.size(), 4u);
        // The movie begins with the first sample of audio track 1, at 7,030 ms.
        const int64_t begins[] = {50, 980, 0, 970};
        const uint8_t fills[] = {1, 4, 2, 3};
        for (size_t i = 0; i < 4; ++i) {
            const MovieTrack& track = read->movie.tracks[i];
            EXPECT_EQ(track.track.index, i == 2 || i == 3);
            bool waits = !track.edits.empty() && track.edits[0].media_time == -1;
            EXPECT_EQ(waits ? static_cast<int64_t>(track.edits[0].duration) : 0, begins[i]) << i;
            Frame frame = frame_of(file, track.track, read->samples[i][0]);
            EXPECT_EQ(frame.track, track.track.index);
            EXPECT_EQ(frame.payload[0], fills[i]);
        }
    }
}

TEST(Mp4Finisher, NamesComeOut) {
    Recorder recorder;
    FragmentBuilder& builder = recorder.builder;
    for (uint8_t index : {0, 1}) ASSERT_TRUE(*builder.set_header(on_track(index, aac_header())));
    EXPECT_TRUE(builder.set_names(Kind::kAudio, 1, "deu", "Kommentar"));
    recorder.begin();
    auto add = [&](int64_t dts) {
        for (uint8_t index : {0, 1}) ASSERT_TRUE(builder.add(on_track(index, frame_of(Codec::kAac, 9, 1, dts))));
    };
    add(0);
    recorder.cut();
    auto expect = [](std::vector<uint8_t> file, std::string_view language, std::string_view label) {
        auto read = demux(finished(file, 4096));
        ASSERT_TRUE(read);
        EXPECT_EQ(read->movie.tracks[1].track.language, language);
        EXPECT_EQ(read->movie.tracks[1].track.label, label);
        EXPECT_EQ(read->movie.tracks[0].track.language, "");
    };
    expect(recorder.out.bytes, "deu", "Kommentar");
    // The last moov is the one that counts.
    EXPECT_TRUE(builder.set_names(Kind::kAudio, 1, "fr-CA", ""));
    recorder.append(builder.moov());
    add(100);
    recorder.cut();
    expect(recorder.out.bytes, "fr-CA", "");
    // A moov that was torn off does not.
    EXPECT_TRUE(builder.set_names(Kind::kAudio, 1, "ita", "x"));
    auto moov = builder.moov();
    recorder.append(std::span(moov).first(moov.size() - 1));
    expect(recorder.out.bytes, "fr-CA", "");
}

TEST(Mp4Finisher, TracksAreBounded) {
    auto moov_with = [](size_t count, uint32_t first_id) {
        std::vector<Track> tracks(count, *make_track(1, aac_header()));
        for (size_t i = 0; i < count; ++i) tracks[i].id = static_cast<uint32_t>(first_id + i);
        std::vector<uint8_t> out;
        BoxWriter w(out);
        write_fragmented_moov(w, tracks);
        return out;
    };
    auto movie = parse_moov(moov_of(moov_with(media::kMaxTracks, 1)));
    ASSERT_TRUE(movie);
    EXPECT_EQ(movie->tracks.back().track.index, media::kMaxTracks - 1);
    auto too_many = parse_moov(moov_of(moov_with(media::kMaxTracks + 1, 1)));
    ASSERT_FALSE(too_many);
    EXPECT_EQ(too_many.error().code(), base::Code::kLimit);
    // By one moov after another, too.
    Recorder recorder;
    ASSERT_TRUE(*recorder.builder.set_header(aac_header()));
    recorder.begin();
    for (uint32_t id = 2; id < 100; ++id) {
        if (id % 20 == 0) {
            ASSERT_TRUE(recorder.builder.add(frame_of(Codec::kAac, 9, 1, id * 100)));
            recorder.cut();
        }
        recorder.append(moov_with(1, id));
    }
    Finisher finisher(recorder.out.bytes.size());
    // Reading ends with the moov that has one too many: before the first fragment.
    auto scanned = scan(finisher, recorder.out.bytes);
    ASSERT_FALSE(scanned);
    EXPECT_EQ(scanned.error().code(), base::Code::kNotFound);
    auto read = demux(recorder.out.bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->movie.tracks.size(), media::kMaxTracks);
}

// The same id as another kind, or at another rate: not one recording. What came before it is kept.
TEST(Mp4Finisher, AContradictionEndsTheRecording) {
    for (const Frame& other : {h264_header(), aac_header("1190")}) {
        Recorder recorder, second;
        ASSERT_TRUE(*recorder.builder.set_header(aac_header()));
        ASSERT_TRUE(*second.builder.set_header(other));
        recorder.begin();
        for (int64_t i = 0; i < 3; ++i) {
            if (i == 2) recorder.append(second.builder.moov());
            ASSERT_TRUE(recorder.builder.add(frame_of(Codec::kAac, 9, 1, i * 100)));
            recorder.cut();
        }
        auto read = demux(recorder.out.bytes);
        ASSERT_TRUE(read);
        EXPECT_EQ(read->samples[0].size(), 2u);
        auto plain = demux(finished(recorder.out.bytes, 4096));
        ASSERT_TRUE(plain);
        EXPECT_EQ(plain->samples[0].size(), 2u);
    }
}

}  // namespace mp4
