#include "protocol/rtsp/base64_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace rtsp {
namespace {

// The decoded text, fed in pieces of that size; "!" at its end where it is refused.
std::string decoded(std::string_view text, size_t piece = SIZE_MAX) {
    Base64Stream stream;
    std::vector<uint8_t> out;
    bool good = true;
    while (good && !text.empty()) {
        const auto part = text.substr(0, piece);
        good = stream.feed({reinterpret_cast<const uint8_t*>(part.data()), part.size()}, out);
        text.remove_prefix(part.size());
    }
    return std::string(out.begin(), out.end()) + (good ? "" : "!");
}

TEST(RtspBase64Stream, DecodesRequestsOneAfterTheOther) {
    const std::pair<const char*, const char*> cases[] = {
        {"", ""},
        {"T1BUSU9OUw==", "OPTIONS"},
        {"T1BUSU9OUw==UExBWQ==", "OPTIONSPLAY"},
        {"T1BU\r\nSU9O Uw==\n", "OPTIONS"},
        {"YWI=YWJj", "ababc"},
        {"T1BU-", "OPT!"},
        {"=", "!"},
        {"T===", "!"},
        {"T1==A", "O"},
        {"T1=B", "!"},
        {"====", "!"},
    };
    for (const auto& [text, expected] : cases)
        for (size_t piece : {SIZE_MAX, size_t{1}, size_t{3}})
            EXPECT_EQ(decoded(text, piece), expected) << text << " in pieces of " << piece;
}

}  // namespace
}  // namespace rtsp
