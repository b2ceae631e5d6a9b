// Digest and Basic: challenges of any server are parsed and answered, and any Authorization is checked. The first byte
// selects one of them. Nothing random may be accepted.

#include <string_view>

#include "base/result.h"
#include "protocol/rtsp/auth.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    const rtsp::Credentials credentials{"ann", "0bb2a4d4f1c0a1e7"};
    const rtsp::AuthOptions options{.realm = "srv", .nonce = "0123456789abcdef"};
    if (data[0] % 2 == 0) {
        CHECK(rtsp::check(text, "DESCRIBE", "rtsp://h/live/s", options, credentials) != rtsp::AuthResult::kAccepted);
        return 0;
    }
    http::Headers headers;
    headers.set("WWW-Authenticate", {text.begin(), text.end()});
    const auto list = rtsp::parse_challenges(headers);
    CHECK(list.size() <= rtsp::kMaxChallenges);
    for (rtsp::Challenge one : list) {
        const std::string answered = rtsp::answer(one, credentials, "DESCRIBE", "rtsp://h/live/s", "c", 1);
        if (!one.digest) continue;
        // What is answered to a challenge with this realm and nonce is accepted for them.
        const rtsp::AuthOptions same{.realm = one.realm, .nonce = one.nonce};
        CHECK(rtsp::check(answered, "DESCRIBE", "rtsp://h/live/s", same, credentials) == rtsp::AuthResult::kAccepted);
    }
    return 0;
}
