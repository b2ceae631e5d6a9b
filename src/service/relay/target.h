#pragma once
// Target: the address of a stream at another server, by RTMP or HTTP. Pure text.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace service::relay {

// A Target has no SRT: see srt_address.h.
enum class Scheme : uint8_t { kRtmp, kRtmps, kHttp, kHttps, kSrt };
std::string_view scheme_name(Scheme scheme);
std::optional<Scheme> find_scheme(std::string_view name);
constexpr bool is_rtmp(Scheme scheme) { return scheme == Scheme::kRtmp || scheme == Scheme::kRtmps; }

// The URL has parameters of a client: it is not for the log.
struct Target {
    Scheme scheme = Scheme::kRtmp;
    std::string url;
    std::string shown;  // the same without parameters
    // The tcUrl for connect of RTMP: with the vhost as its host, as SRS sends it; empty: that of the URL.
    std::string tc_url{};
};

// kConfig: it is no URL of the scheme.
base::Result<void> check(const Target& target);
std::string without_parameters(std::string_view url);
// A space, or a control character.
constexpr bool is_no_url_byte(char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; }

inline constexpr int kMaxRedirects = 3;  // that are followed, one after another
// The target that a server redirects to. kProtocol: it is no URL of the same kind of protocol.
base::Result<Target> redirected(const Target& from, std::string_view location);

}  // namespace service::relay
