#include "service/rtsp/random.h"

#include <fmt/core.h>
#include <openssl/rand.h>

#include "base/result.h"

namespace service::rtsp {

uint32_t random_u32() {
    uint32_t value = 0;
    CHECK(RAND_bytes(reinterpret_cast<uint8_t*>(&value), sizeof value) == 1);
    return value;
}

std::string random_hex(size_t bytes) {
    std::string text;
    for (size_t i = 0; i < bytes; ++i) {
        uint8_t byte = 0;
        CHECK(RAND_bytes(&byte, 1) == 1);
        text += fmt::format("{:02x}", byte);
    }
    return text;
}

}  // namespace service::rtsp
