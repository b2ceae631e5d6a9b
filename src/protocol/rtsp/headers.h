#pragma once
// Header fields of RTSP with a grammar of their own: Session (RFC 2326, section 12.37), Range (12.29), RTP-Info
// (12.33), and the lists of Public and Require. Transport has its own file, and so has authentication.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rtsp {

inline constexpr uint32_t kDefaultSessionTimeoutS = 60;  // section 12.37
inline constexpr size_t kMaxSessionId = 128;             // bytes

struct SessionField {
    std::string id{};
    uint32_t timeout_s = kDefaultSessionTimeoutS;
    friend bool operator==(const SessionField&, const SessionField&) = default;
};
// kProtocol: no identifier, or one that is too long or has characters outside of it. A malformed timeout is the
// default.
base::Result<SessionField> parse_session(std::string_view text);
std::string write(const SessionField& session);

// What a client asks to play. Times are those of npt, milliseconds; other units are recognized, without their values.
struct Range {
    enum class Unit : uint8_t { kNpt, kOther };
    Unit unit = Unit::kNpt;
    bool from_now = false;  // "now"
    std::optional<int64_t> begin_ms{};
    std::optional<int64_t> end_ms{};
    friend bool operator==(const Range&, const Range&) = default;
};
// kProtocol: no unit, or a malformed npt time.
base::Result<Range> parse_range(std::string_view text);

// One track of RTP-Info: the first packet that the player gets.
struct RtpInfo {
    std::string url{};
    std::optional<uint16_t> sequence{};
    std::optional<uint32_t> timestamp{};
    friend bool operator==(const RtpInfo&, const RtpInfo&) = default;
};
inline constexpr size_t kMaxRtpInfos = 16;
std::string write(const std::vector<RtpInfo>& tracks);
// Malformed parts are left out, and so is what follows the first kMaxRtpInfos tracks.
std::vector<RtpInfo> parse_rtp_info(std::string_view text);

}  // namespace rtsp
