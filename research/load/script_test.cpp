#include "load/script.h"

#include <gtest/gtest.h>

#include "load/chunk_skimmer.h"
#include "protocol/flv/tag.h"

namespace load {
namespace {

using Bytes = std::vector<uint8_t>;

void add_tag(Bytes& file, uint8_t type, uint32_t timestamp, Bytes body) {
    size_t at = file.size();
    auto size = static_cast<uint32_t>(body.size());
    file.resize(at + flv::kTagHeaderSize);
    flv::put_tag_header(&file[at], static_cast<flv::TagType>(type), size, timestamp);
    file.insert(file.end(), body.begin(), body.end());
    file.resize(file.size() + 4);
    flv::put_previous_tag_size(&file[file.size() - 4], size);
}

Bytes small_file() {
    Bytes file(flv::kFileHeaderSize);
    flv::put_file_header(file.data(), true, true);
    add_tag(file, 18, 0, Bytes(40, 2));
    add_tag(file, 9, 0, {0x17, 0, 0, 0, 0, 1});
    add_tag(file, 8, 0, {0xaf, 0, 0x12, 0x10});
    add_tag(file, 9, 0, {0x17, 1, 0, 0, 0, 0, 0, 0, 1, 0x65});
    add_tag(file, 8, 20, {0xaf, 1, 7, 7});
    add_tag(file, 9, 40, {0x27, 1, 0, 0, 0, 0, 0, 0, 1, 0x41});
    return file;
}

class MarkRecorder final : public ControlSink {
  public:
    void on_media(const MediaMessage& m) override {
        log += fmt::format("{}@{}+{} ", m.type, m.timestamp, m.size);
        mark = mark_of(m.type, m.head);
    }
    base::Result<void> on_control(uint8_t type, uint32_t, std::span<const uint8_t>) override {
        log += fmt::format("c{} ", type);
        return {};
    }
    std::string log;
    int64_t mark = -1;
};

TEST(Script, EncodesAFile) {
    auto script = Script::from_flv(small_file());
    ASSERT_TRUE(script) << script.error().text();
    EXPECT_EQ(script->messages().size(), 6u);
    EXPECT_EQ(script->repeat_from(), 3u);
    EXPECT_EQ(script->round_ms(), 80u);
    ChunkSkimmer skimmer;
    MarkRecorder recorder;
    for (uint32_t i = 0; i < 6; ++i) {
        ASSERT_TRUE(skimmer.feed(script->encode(i, script->messages()[i].timestamp_ms + 1000, 5), recorder));
    }
    EXPECT_EQ(recorder.log, "c18 9@1000+6 8@1000+4 9@1000+10 8@1020+4 9@1040+10 ");
}

TEST(Script, RefusesAFileWithoutFrames) {
    Bytes file(flv::kFileHeaderSize);
    flv::put_file_header(file.data(), true, true);
    EXPECT_FALSE(Script::from_flv(file));
    EXPECT_FALSE(Script::from_flv(Bytes(100, 'x')));
}

TEST(Script, MarksAreFoundAgain) {
    Script script = Script::marked(237, 4);
    EXPECT_NEAR(script.kbps(), 237, 12);
    ChunkSkimmer skimmer;
    MarkRecorder recorder;
    Bytes announced = {2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0xea, 0x60};
    ASSERT_TRUE(skimmer.feed(announced, recorder));
    for (uint32_t i = 0; i < script.messages().size(); ++i) {
        ASSERT_TRUE(skimmer.feed(script.encode(i, script.messages()[i].timestamp_ms, 1), recorder));
        EXPECT_EQ(recorder.mark, i < script.repeat_from() ? -1 : static_cast<int64_t>(i));
    }
}

}  // namespace
}  // namespace load
