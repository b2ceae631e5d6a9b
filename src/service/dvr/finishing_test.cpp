#include "service/dvr/finishing.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "protocol/flv/recording.h"
#include "protocol/flv/tag.h"
#include "service/dvr/container.h"

namespace service::dvr {
namespace {

namespace fs = std::filesystem;

class FinishingTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "dvr-finish-XXXXXX").string();
        directory_ = mkdtemp(pattern.data());
    }
    void TearDown() override { fs::remove_all(directory_); }
    std::string at(const std::string& name) const { return directory_ / name; }
    static void write(const std::string& path, const std::vector<uint8_t>& bytes) {
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
    static std::vector<uint8_t> read(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    fs::path directory_;
};

// A header as at the beginning, and that many video tags, each a keyframe, 40 ms apart.
std::vector<uint8_t> growing_flv(int tags) {
    amf::Value about = flv::recording_about(nullptr, nullptr, nullptr, kWriter);
    std::vector<uint8_t> bytes =
        flv::recording_head(about, flv::RecordingIndex(16), 0, flv::recording_head_size(about, 16));
    for (int i = 0; i < tags; ++i) {
        std::vector<uint8_t> tag(flv::kTagHeaderSize + 100 + flv::kPreviousTagSize, 0x17);
        uint8_t* p = flv::put_tag_header(tag.data(), flv::TagType::kVideo, 100, static_cast<uint32_t>(i) * 40);
        p[1] = 1;
        flv::put_previous_tag_size(p + 100, 100);
        bytes.insert(bytes.end(), tag.begin(), tag.end());
    }
    return bytes;
}

TEST_F(FinishingTest, RenamesToTheFirstFreeName) {
    for (const char* want : {"a.flv", "a-1.flv", "a-2.flv"}) {
        write(at("a.flv.tmp"), {1});
        auto name = rename_to_free(at("a.flv.tmp"), at("a.flv"));
        ASSERT_TRUE(name) << name.error().text();
        EXPECT_EQ(*name, at(want));
        EXPECT_FALSE(fs::exists(at("a.flv.tmp")));
    }
    EXPECT_FALSE(rename_to_free(at("missing.tmp"), at("b.flv")));
}

TEST_F(FinishingTest, AnFlvFileTornAnywhereIsWholeAgain) {
    std::vector<uint8_t> whole = growing_flv(5);
    size_t head = flv::recording_head_length(whole), tag = flv::kTagHeaderSize + 100 + flv::kPreviousTagSize;
    for (size_t size = head + 2 * tag; size <= whole.size(); size += 7) {
        write(at("x.flv.tmp"), {whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
        auto done = finish_file(at("x.flv.tmp"), at("x.flv"), false, 0);
        ASSERT_TRUE(done) << done.error().text();
        size_t tags = (size - head) / tag;
        EXPECT_EQ(done->bytes, head + tags * tag);
        EXPECT_EQ(done->duration_ms, static_cast<int64_t>(tags) * 40);
        std::vector<uint8_t> bytes = read(done->path);
        EXPECT_EQ(bytes.size(), done->bytes);
        EXPECT_TRUE(std::equal(bytes.begin() + static_cast<ptrdiff_t>(head), bytes.end(),
                               whole.begin() + static_cast<ptrdiff_t>(head)));
        auto told = flv::read_recording_head(bytes, kWriter);
        EXPECT_TRUE(told);
        fs::remove(done->path);
    }
}

TEST_F(FinishingTest, WithoutAWholeFrameThereIsNothing) {
    write(at("x.flv.tmp"), growing_flv(0));
    auto done = finish_file(at("x.flv.tmp"), at("x.flv"), false, 0);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_TRUE(done->path.empty());
    EXPECT_TRUE(fs::is_empty(directory_));
    write(at("y.mp4.tmp"), {});
    done = finish_file(at("y.mp4.tmp"), at("y.mp4"), false, 0);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_TRUE(done->path.empty() && fs::is_empty(directory_));
}

TEST_F(FinishingTest, WhatIsNotOursStaysAsItIs) {
    std::vector<uint8_t> garbage(5000, 0x42);
    for (const char* name : {"x.flv", "x.mp4"}) {
        std::string growing = at(std::string(name) + ".tmp");
        write(growing, garbage);
        EXPECT_FALSE(finish_file(growing, at(name), false, 0)) << name;
        EXPECT_EQ(read(growing), garbage);
        fs::remove(growing);
        auto missing = finish_file(growing, at(name), false, 0);
        ASSERT_FALSE(missing);
        EXPECT_EQ(missing.error().code(), base::Code::kNotFound);
    }
    fs::create_directory(at("d.flv.tmp"));
    EXPECT_FALSE(finish_file(at("d.flv.tmp"), at("d.flv"), false, 0));
    write(at("target"), growing_flv(3));
    fs::create_symlink(at("target"), at("l.flv.tmp"));
    EXPECT_FALSE(finish_file(at("l.flv.tmp"), at("l.flv"), false, 0));
    EXPECT_EQ(read(at("target")), growing_flv(3));
}

}  // namespace
}  // namespace service::dvr
