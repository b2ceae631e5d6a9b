#include "service/dvr/finish_mp4.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/hex_testing.h"
#include "protocol/mp4/fragment.h"
#include "protocol/mp4/testing/demuxer.h"

namespace service::dvr {

namespace {

using How = FinishedMp4::How;

struct Folder {
    std::filesystem::path path;
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "finish-mp4-XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~Folder() { std::filesystem::remove_all(path); }
};

media::Frame frame(std::vector<uint8_t> payload, int64_t dts, bool key, bool header = false) {
    media::Frame f;
    f.kind = media::Kind::kVideo;
    f.codec = media::Codec::kH264;
    f.keyframe = key;
    f.sequence_header = header;
    f.dts = media::from_ms(dts);
    f.payload = base::Slice::copy(payload);
    return f;
}

// A recording of that many frames, one fragment per 25.
std::vector<uint8_t> recording(int frames, size_t moov_at) {
    mp4::FragmentBuilder builder;
    auto config = base::hex("01640020ffe1001967640020acd940c029b011000003000100000300320f18319601000568ebecb22c");
    EXPECT_TRUE(builder.set_header(frame(config, 0, false, true)));
    auto file = builder.recording_head(moov_at);
    for (int i = 0; i <= frames; ++i) {
        if (i && (i % 25 == 0 || i == frames)) {
            for (auto piece : builder.cut({.next_video_dts = media::from_ms(i * 40), .seal = true}).pieces)
                file.insert(file.end(), piece.begin(), piece.end());
        }
        if (i == frames) break;
        EXPECT_TRUE(builder.add(frame(std::vector<uint8_t>(500, static_cast<uint8_t>(i)), i * 40, i % 25 == 0)));
    }
    return file;
}

void write(const std::string& path, const std::vector<uint8_t>& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<uint8_t> read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool can_insert(const std::string& path) {
    write(path, std::vector<uint8_t>(16384));
    int fd = ::open(path.c_str(), O_RDWR);
    bool can = ::fallocate(fd, FALLOC_FL_INSERT_RANGE, 4096, 4096) == 0;
    ::close(fd);
    return can;
}

void expect_plain(const std::string& path, int frames) {
    auto bytes = read(path);
    auto plain = mp4::demux(bytes);
    ASSERT_TRUE(plain) << plain.error().text();
    EXPECT_FALSE(plain->movie.fragmented);
    ASSERT_EQ(plain->samples[0].size(), static_cast<size_t>(frames));
    for (int i = 0; i < frames; ++i) {
        media::Frame f = mp4::frame_of(bytes, plain->movie.tracks[0].track, plain->samples[0][static_cast<size_t>(i)]);
        ASSERT_EQ(media::to_ms(f.dts), i * 40);
        ASSERT_EQ(f.payload.size(), 500u);
        ASSERT_EQ(f.payload[499], static_cast<uint8_t>(i));
    }
}

}  // namespace

TEST(FinishMp4, EachWay) {
    Folder folder;
    std::string path = folder.path / "a.mp4.tmp";
    bool inserts = can_insert(path);
    struct Case {
        size_t moov_at;
        bool insert;
        How how;
    };
    for (const Case& c :
         {Case{64 * 1024, true, How::kInPlace}, Case{4096, true, inserts ? How::kInserted : How::kCopied},
          Case{4096, false, How::kCopied}, Case{1000, true, How::kCopied}}) {
        write(path, recording(1000, c.moov_at));
        ::chmod(path.c_str(), 0600);
        auto done = finish_mp4(path, {.insert = c.insert});
        ASSERT_TRUE(done) << done.error().text();
        EXPECT_EQ(done->how, c.how);
        EXPECT_EQ(done->samples, 1000u);
        EXPECT_EQ(done->duration_ms, 40'000);
        EXPECT_EQ(done->cut_bytes, 0u);
        EXPECT_EQ(done->bytes, std::filesystem::file_size(path));
        EXPECT_FALSE(done->was_finished);
        expect_plain(path, 1000);
        struct stat about;
        ASSERT_EQ(::stat(path.c_str(), &about), 0);
        EXPECT_EQ(about.st_mode & 0777, 0600u);
        auto bytes = read(path);
        auto again = finish_mp4(path);
        ASSERT_TRUE(again);
        EXPECT_TRUE(again->was_finished);
        EXPECT_EQ(again->samples, 1000u);
        EXPECT_EQ(again->duration_ms, 40'000);
        EXPECT_EQ(read(path), bytes);
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1) << "something was left behind";
}

TEST(FinishMp4, ATornEndIsCut) {
    Folder folder;
    std::string path = folder.path / "a";
    auto bytes = recording(1000, 4096);
    size_t whole = recording(975, 4096).size();
    for (size_t size : {bytes.size() - 1, whole + 5000, whole}) {
        for (size_t zeros : {0, 4000}) {
            auto torn = bytes;
            torn.resize(size);
            torn.resize(size + zeros);
            write(path, torn);
            auto done = finish_mp4(path);
            ASSERT_TRUE(done) << done.error().text();
            EXPECT_EQ(done->cut_bytes, size + zeros - whole);
            expect_plain(path, 975);
        }
    }
}

TEST(FinishMp4, WhatIsNoRecordingStaysAsItIs) {
    Folder folder;
    std::string path = folder.path / "a";
    auto missing = finish_mp4(path);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code(), base::Code::kNotFound);
    struct Case {
        std::vector<uint8_t> bytes;
        base::Code code;
    };
    auto head = recording(0, 4096);
    auto barely = recording(25, 4096);
    barely.resize(barely.size() - 20);
    for (const Case& c :
         {Case{std::vector<uint8_t>(100, 'x'), base::Code::kProtocol}, Case{head, base::Code::kNotFound},
          Case{barely, base::Code::kNotFound}, Case{{}, base::Code::kNotFound}}) {
        write(path, c.bytes);
        auto done = finish_mp4(path);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code(), c.code) << done.error().text();
        EXPECT_NE(done.error().text().find(path), std::string::npos);
        EXPECT_EQ(read(path), c.bytes);
    }
    EXPECT_FALSE(finish_mp4(folder.path));
}

}  // namespace service::dvr
