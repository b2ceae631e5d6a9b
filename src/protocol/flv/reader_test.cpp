#include "protocol/flv/reader.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace flv {

using base::hex;
using Bytes = std::vector<uint8_t>;

namespace {

void append_tag(Bytes& out, TagType type, uint32_t timestamp, const Bytes& body) {
    uint8_t header[kTagHeaderSize];
    ASSERT_EQ(put_tag_header(header, type, static_cast<uint32_t>(body.size()), timestamp), header + kTagHeaderSize);
    out.insert(out.end(), header, header + kTagHeaderSize);
    out.insert(out.end(), body.begin(), body.end());
    uint8_t size[kPreviousTagSize];
    ASSERT_EQ(put_previous_tag_size(size, static_cast<uint32_t>(body.size())), size + kPreviousTagSize);
    out.insert(out.end(), size, size + kPreviousTagSize);
}

Bytes file(bool audio, bool video) {
    Bytes out(kFileHeaderSize);
    EXPECT_EQ(put_file_header(out.data(), audio, video), out.data() + kFileHeaderSize);
    return out;
}

}  // namespace

TEST(Tag, KnownBytes) {
    EXPECT_EQ(file(true, true), hex("464c5601 05 00000009 00000000"));
    EXPECT_EQ(file(false, true), hex("464c5601 01 00000009 00000000"));
    Bytes out;
    append_tag(out, TagType::kAudio, 0x12345678, hex("af001210"));
    EXPECT_EQ(out, hex("08 000004 345678 12 000000 af001210 0000000f"));
}

TEST(Reader, ReadsTagsHoweverTheyAreCut) {
    Bytes bytes = file(true, false);
    append_tag(bytes, TagType::kScript, 0, hex("020001"));
    append_tag(bytes, TagType::kAudio, 0x1000001, hex("af001210"));
    append_tag(bytes, TagType::kVideo, 40, {});
    append_tag(bytes, TagType::kVideo, 0xffffffff, Bytes(5000, 7));
    for (size_t step : {1ul, 2ul, 7ul, 13ul, 100ul, bytes.size()}) {
        Reader reader;
        std::vector<Tag> tags;
        for (size_t at = 0; at < bytes.size(); at += step) {
            reader.feed({bytes.data() + at, std::min(step, bytes.size() - at)});
            for (;;) {
                auto tag = reader.next();
                ASSERT_TRUE(tag);
                if (!*tag) break;
                tags.push_back(**tag);
            }
        }
        ASSERT_EQ(tags.size(), 4u) << step;
        EXPECT_TRUE(reader.has_audio());
        EXPECT_FALSE(reader.has_video());
        EXPECT_EQ(tags[0].type, 18);
        EXPECT_EQ(tags[1].timestamp, 0x1000001u);
        EXPECT_EQ(tags[1].body, base::Slice::copy(hex("af001210")));
        EXPECT_TRUE(tags[2].body.empty());
        EXPECT_EQ(tags[3].timestamp, 0xffffffffu);
        EXPECT_EQ(tags[3].body.size(), 5000u);
        EXPECT_EQ(reader.buffered(), 0u);
    }
}

TEST(Reader, ALongerFileHeaderIsPassedOver) {
    Bytes bytes = hex("464c5601 05 0000000c aabbcc 00000000");
    append_tag(bytes, TagType::kAudio, 1, hex("af"));
    Reader reader;
    reader.feed(bytes);
    auto tag = reader.next();
    ASSERT_TRUE(tag && *tag);
    EXPECT_EQ((*tag)->timestamp, 1u);
}

TEST(Reader, Errors) {
    struct Case {
        const char* bytes;
        const char* text;
    };
    const Case cases[] = {
        {"474c5601 05 00000009", "no FLV file"},
        {"464c5602 05 00000009", "version 2"},
        {"464c5601 05 00000008", "header of 8 bytes"},
        {"464c5601 05 ffffffff", "header of 4294967295 bytes"},
        {"464c5601 05 00000009 00000000 29 000001 000000 00 000000", "encrypted"},
        {"464c5601 05 00000009 00000000 09 000401 000000 00 000000", "tag of 1025 bytes"},
    };
    for (const Case& c : cases) {
        Reader reader(1024);
        reader.feed(hex(c.bytes));
        auto tag = reader.next();
        ASSERT_FALSE(tag) << c.bytes;
        EXPECT_NE(tag.error().text().find(c.text), std::string::npos) << tag.error().text();
        EXPECT_FALSE(reader.next()) << "an error is final";
    }
}

}  // namespace flv
