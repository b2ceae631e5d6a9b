#pragma once
// The type of a session: its protocol, and whether it publishes or plays.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace net {

// Names as the API shows them: rtmp-play flv-play hls-play fmle-publish flash-publish ...; kNone before it is known.
enum class SessionType : uint8_t {
    kNone,
    kRtmp,  // neither publishes nor plays yet
    kRtmpPlay,
    kFmlePublish,
    kFlashPublish,
    kHaivisionPublish,
    kFlvPlay,
    kHlsPlay,
    kRtcPlay,
    kRtcPublish,
    kRtmpForward,  // this server publishes to another one
    kHttp
};
inline constexpr size_t kSessionTypes = static_cast<size_t>(SessionType::kHttp) + 1;
std::string_view session_type_name(SessionType type);
// Publishes or plays.
constexpr bool is_client(SessionType type) {
    return type != SessionType::kNone && type != SessionType::kRtmp && type != SessionType::kHttp;
}
bool publishes(SessionType type);

}  // namespace net
