#include "server/why/listeners.h"

#include <algorithm>

namespace server::why {
namespace {

struct ProtocolRow {
    Protocol protocol;
    bool tls;
    std::vector<std::string_view> switches;
    std::vector<std::string_view> listeners;
};

const std::vector<ProtocolRow>& protocol_rows() {
    static const std::vector<std::string_view> kHttp{"http_server/enabled"};
    static const std::vector<std::string_view> kHttps{"http_server/enabled", "http_server/https/enabled"};
    static const std::vector<std::string_view> kHttpAt{"http_server/listen"}, kHttpsAt{"http_server/https/listen"};
    static const std::vector<ProtocolRow> kRows{
        {Protocol::kRtmp, false, {}, {"rtmp/listen"}},
        {Protocol::kRtmp, true, {"rtmps/enabled"}, {"rtmps/listen"}},
        {Protocol::kHttpLive, false, kHttp, kHttpAt},
        {Protocol::kHttpLive, true, kHttps, kHttpsAt},
        {Protocol::kHls, false, kHttp, kHttpAt},
        {Protocol::kHls, true, kHttps, kHttpsAt},
        {Protocol::kDash, false, kHttp, kHttpAt},
        {Protocol::kDash, true, kHttps, kHttpsAt},
        {Protocol::kWebrtc, false, {"rtc_server/enabled"}, {"http_api/listen", "http_server/listen"}},
        {Protocol::kWebrtc, true, {"rtc_server/enabled"}, {"http_api/https/listen", "http_server/https/listen"}},
        {Protocol::kRtsp, false, {"rtsp_server/enabled"}, {"rtsp_server/listen"}},
        {Protocol::kRtsp, true, {"rtsp_server/enabled", "rtsp_server/rtsps/enabled"}, {"rtsp_server/rtsps/listen"}},
        {Protocol::kSrt, false, {"srt_server/enabled"}, {"srt_server/listen"}},
    };
    return kRows;
}

const ProtocolRow& row_of(const Target& target) {
    const auto& rows = protocol_rows();
    const auto fits = [&](const ProtocolRow& row) { return row.protocol == target.protocol && row.tls == target.tls; };
    const auto found = std::ranges::find_if(rows, fits);
    CHECK(found != rows.end());  // resolve() makes no other target
    return *found;
}

}  // namespace

std::span<const std::string_view> switches_of(const Target& target) { return row_of(target).switches; }

std::vector<Listening> addresses_of(const Target& target, const config::Snapshot& snapshot) {
    std::vector<Listening> found;
    for (const std::string_view path : row_of(target).listeners) {
        if (target.is_page && path.starts_with("http_api/")) continue;  // the pages are the HTTP server's
        for (const config::Listener& listener : config::listeners()) {
            const config::ListenAddresses* addresses = path == listener.path ? listener.addresses(snapshot) : nullptr;
            if (!addresses) continue;
            for (const config::ListenAddress& address : *addresses)
                found.push_back({path, listener.transport, address});
        }
    }
    return found;
}

std::string_view block_of(const Listening& listening) { return listening.path.substr(0, listening.path.rfind('/')); }

}  // namespace server::why
