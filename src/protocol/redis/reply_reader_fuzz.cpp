#include <algorithm>
#include <cstdint>

#include "protocol/redis/reply_reader.h"

namespace {

size_t parts_of(const redis::Reply& reply) {
    size_t count = 1;
    for (const redis::Reply& element : reply.elements) count += parts_of(element);
    return count;
}

size_t read_all(std::span<const uint8_t> bytes, size_t step) {
    redis::ReplyReader reader;
    size_t parts = 0;
    for (size_t at = 0; at < bytes.size(); at += step) {
        reader.feed(bytes.subspan(at, std::min(step, bytes.size() - at)));
        while (true) {
            auto reply = reader.next();
            if (!reply) return parts;
            if (!*reply) break;
            parts += parts_of(**reply);
        }
    }
    return parts;
}

}  // namespace

// The first byte: the size of the pieces. What comes out does not depend on it, and is not more than the input.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) return 0;
    const std::span bytes(data + 1, std::min<size_t>(size - 1, redis::ReplyReader::kMaxReplyBytes));
    const size_t whole = read_all(bytes, redis::ReplyReader::kMaxReplyBytes);
    CHECK(whole <= bytes.size());
    CHECK(read_all(bytes, 1 + data[0]) == whole);
    return 0;
}
