#include "protocol/rtmp/stream_id_rewriter.h"

#include <gtest/gtest.h>

#include <vector>

#include "protocol/rtmp/chunk_writer.h"
#include "protocol/rtmp/message.h"

namespace rtmp {
namespace {

// Messages of all lengths around the chunk size, with and without an extended timestamp.
std::vector<uint8_t> messages(uint32_t stream_id, uint32_t chunk_size) {
    std::vector<uint8_t> out;
    for (uint32_t timestamp : {0u, 40u, 0xfffffeu, 0xffffffu, 0x1000000u, 0xffffffffu})
        for (size_t length : {size_t{0}, size_t{1}, size_t{chunk_size} - 1, size_t{chunk_size}, size_t{chunk_size} + 1,
                              size_t{chunk_size} * 3}) {
            const std::vector<uint8_t> payload(length, 0xc3);  // would be a type 3 header
            append_message(out, kVideoChunkStream, kVideo, stream_id, timestamp, payload, chunk_size);
            append_message(out, kAudioChunkStream, kAudio, stream_id, timestamp, payload, chunk_size);
        }
    return out;
}

TEST(StreamIdRewriter, WritesTheIdIntoEachMessageAndNothingElse) {
    for (uint32_t chunk_size : {128u, 4096u, 60000u})
        for (uint32_t id : {0u, 2u, 0x01020304u, 0xffffffffu}) {
            std::vector<uint8_t> bytes = messages(1, chunk_size);
            StreamIdRewriter rewriter(id, chunk_size);
            rewriter.rewrite(bytes);
            EXPECT_EQ(bytes, messages(id, chunk_size)) << id << " " << chunk_size;
            EXPECT_TRUE(rewriter.between_messages());
        }
}

// A socket accepts as much as it has room for; the rest is passed again.
TEST(StreamIdRewriter, GoesOnWhereverItWasCut) {
    const std::vector<uint8_t> plain = messages(1, 128), wanted = messages(77, 128);
    for (size_t step : {1u, 2u, 7u, 13u, 139u}) {
        std::vector<uint8_t> bytes = plain;
        StreamIdRewriter rewriter(77, 128);
        for (size_t at = 0; at < bytes.size(); at += step) {
            const size_t size = std::min(step, bytes.size() - at);
            StreamIdRewriter ahead = rewriter;
            ahead.rewrite(std::span(bytes).subspan(at));
            rewriter.rewrite(std::span(bytes).subspan(at, size));
        }
        EXPECT_EQ(bytes, wanted) << step;
        EXPECT_TRUE(rewriter.between_messages());
    }
}

TEST(StreamIdRewriter, KnowsWhereAMessageEnds) {
    std::vector<uint8_t> bytes;
    append_message(bytes, kAudioChunkStream, kAudio, 1, 5, std::vector<uint8_t>(300), 128);
    StreamIdRewriter rewriter(3, 128);
    EXPECT_TRUE(rewriter.between_messages());
    rewriter.rewrite(std::span(bytes).first(4));
    EXPECT_FALSE(rewriter.between_messages());
    rewriter.rewrite(std::span(bytes).subspan(4, bytes.size() - 5));
    EXPECT_FALSE(rewriter.between_messages());
    rewriter.rewrite(std::span(bytes).last(1));
    EXPECT_TRUE(rewriter.between_messages());
}

}  // namespace
}  // namespace rtmp
