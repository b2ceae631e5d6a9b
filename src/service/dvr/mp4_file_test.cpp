// MP4 recordings of several tracks of a kind: as they grow, as a crash leaves them, and finished.

#include <filesystem>
#include <fstream>
#include <iterator>

#include "protocol/mp4/frames_testing.h"
#include "protocol/mp4/testing/demuxer.h"
#include "runtime/loop/testing.h"
#include "service/dvr/container.h"
#include "service/dvr/finish_mp4.h"

namespace service::dvr {
namespace {

using media::Codec;
using media::Frame;
using media::Kind;
using mp4::aac_header;
using mp4::frame_of;
using mp4::h264_header;
using mp4::on_track;
using runtime::testing::ok;

class Mp4FileTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        std::string pattern = (std::filesystem::temp_directory_path() / "mp4-file-XXXXXX").string();
        directory_ = mkdtemp(pattern.data());
        file_ = runtime::disk::AppendFile::create(path());
        container_ = make_mp4(*file_, {});
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }
    std::string path() const { return directory_ / "a.mp4"; }

    Taken begin(const Frame& header, int64_t ms = 0) {
        Frame first = frame_of(header.codec, 9, 1, ms, 0, true);
        first.track = header.track;
        auto taken = container_->begin_track(header, first, media::from_ms(ms));
        EXPECT_TRUE(ok(taken));
        return taken.value_or(Taken::kNo);
    }
    // A second of each track: video frames 40 ms apart, audio 20; each payload is the track's fill byte.
    void write_second(int64_t from_ms, std::initializer_list<Frame> tracks) {
        for (int64_t at = from_ms; at < from_ms + 1000; at += 20) {
            for (const Frame& track : tracks) {
                if (track.kind == Kind::kVideo && at % 40) continue;
                Frame frame = frame_of(track.codec, 9, fill_of(track), at, 0, at == from_ms);
                frame.track = track.track;
                ASSERT_TRUE(ok(container_->write(frame, frame.dts)));
            }
        }
    }
    static uint8_t fill_of(const Frame& frame) {
        return static_cast<uint8_t>(frame.track * 2 + (frame.kind == Kind::kAudio));
    }
    // Ends and closes the file, finishes it, and reads it.
    std::vector<uint8_t> finished(uint64_t cut_bytes = 0) {
        EXPECT_TRUE(ok(container_->end()));
        bool done = false;
        file_->finish({}, [&](base::Result<void> result) {
            EXPECT_TRUE(ok(result));
            done = true;
        });
        for (int i = 0; i < 1000 && !done; ++i) (void)runtime::sleep_ms(10);
        EXPECT_TRUE(done);
        if (cut_bytes) std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - cut_bytes);
        EXPECT_TRUE(ok(finish_mp4(path())));
        std::ifstream file(path(), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::filesystem::path directory_;
    std::unique_ptr<runtime::disk::AppendFile> file_;
    std::unique_ptr<Container> container_;
};

const Frame kVideo = h264_header(), kVideo1 = on_track(1, h264_header());
const Frame kAudio = aac_header(), kAudio1 = on_track(1, aac_header("1190")), kAudio5 = on_track(5, aac_header());

TEST_F(Mp4FileTest, AllTracksAreWritten) {
    for (const Frame& header : {kVideo, kAudio, kVideo1, kAudio1}) EXPECT_EQ(begin(header), Taken::kYes);
    container_->set_names({.kind = Kind::kAudio, .index = 1, .language = "deu", .label = "Kommentar"});
    write_second(0, {kVideo, kAudio, kVideo1, kAudio1});
    EXPECT_EQ(container_->frames(), 150u);
    // A track that comes later adds a moov, of whichever kind and index it is.
    EXPECT_EQ(begin(kAudio5, 1000), Taken::kYes);
    write_second(1000, {kVideo, kAudio, kVideo1, kAudio1, kAudio5});
    auto file = finished();
    auto read = mp4::demux(file);
    ASSERT_TRUE(ok(read));
    ASSERT_EQ(read->movie.tracks.size(), 5u);
    const Frame* const want[] = {&kVideo, &kAudio, &kVideo1, &kAudio1, &kAudio5};
    for (size_t i = 0; i < 5; ++i) {
        const mp4::Track& track = read->movie.tracks[i].track;
        EXPECT_EQ(track.kind, want[i]->kind);
        EXPECT_EQ(track.index, i < 4 ? want[i]->track : 2);  // by the order in the file
        EXPECT_EQ(track.language, i == 3 ? "deu" : "");
        EXPECT_EQ(track.label, i == 3 ? "Kommentar" : "");
        const auto& edits = read->movie.tracks[i].edits;
        EXPECT_EQ(!edits.empty() && edits[0].media_time == -1 ? edits[0].duration : 0, i < 4 ? 0u : 1000u) << i;
        EXPECT_EQ(read->samples[i].size(), track.kind == Kind::kVideo ? 50u : i < 4 ? 100u : 50u) << i;
        for (const mp4::Sample& sample : read->samples[i]) ASSERT_EQ(file[sample.offset], fill_of(*want[i])) << i;
    }
}

TEST_F(Mp4FileTest, WhatACrashLeavesHasAllTracks) {
    for (const Frame& header : {kVideo, kAudio, kAudio1}) EXPECT_EQ(begin(header), Taken::kYes);
    for (int64_t second : {0, 1, 2}) write_second(second * 1000, {kVideo, kAudio, kAudio1});
    auto file = finished(100);
    auto read = mp4::demux(file);
    ASSERT_TRUE(ok(read));
    ASSERT_EQ(read->samples.size(), 3u);
    // Fragments are of 740 ms: the last one is lost.
    for (size_t i = 0; i < 3; ++i) {
        auto lasts = read->samples[i].size() * (i ? 20 : 40);
        EXPECT_GE(lasts, 2900 - 740u) << i;
        EXPECT_LT(lasts, 3000u) << i;
    }
}

TEST_F(Mp4FileTest, AChangedHeaderIsANewFilePerTrack) {
    for (const Frame& header : {kAudio, kAudio1}) EXPECT_EQ(begin(header), Taken::kYes);
    write_second(0, {kAudio, kAudio1});
    EXPECT_EQ(begin(kAudio, 1000), Taken::kYes);  // the same
    EXPECT_EQ(begin(kAudio1, 1000), Taken::kYes);
    EXPECT_EQ(begin(on_track(1, aac_header()), 1000), Taken::kNewFile);
    EXPECT_EQ(begin(on_track(1, frame_of(Codec::kMp3, base::hex("fffb9064"))), 1000), Taken::kNewFile);
    EXPECT_EQ(begin(on_track(0, aac_header("1190")), 1000), Taken::kNewFile);
}

TEST_F(Mp4FileTest, OneTrackMayBeRefused) {
    EXPECT_EQ(begin(kAudio), Taken::kYes);
    EXPECT_EQ(begin(on_track(1, frame_of(Codec::kSpeex, base::hex("00")))), Taken::kNo);
    EXPECT_FALSE(container_->refusal().empty());
    container_->set_names({.kind = Kind::kAudio, .index = 1, .language = "deu"});
    write_second(0, {kAudio, on_track(1, frame_of(Codec::kSpeex, base::hex("00")))});
    EXPECT_EQ(container_->frames(), 50u);
    auto file = finished();
    auto read = mp4::demux(file);
    ASSERT_TRUE(ok(read));
    ASSERT_EQ(read->samples.size(), 1u);
    EXPECT_EQ(read->samples[0].size(), 50u);
}

}  // namespace
}  // namespace service::dvr
