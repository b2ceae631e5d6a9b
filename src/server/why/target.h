#pragma once
// What a URL asks of this server: the protocol, the address, the vhost, app and stream, by the same rules as those of
// the services. Pure: text and a configuration in, a Target out.
//
//   rtmp[s]://HOST[:PORT]/APP/STREAM            rtsp[s]://HOST[:PORT]/APP/STREAM
//   http[s]://..., ws[s]://...                  .flv .ts .aac .mp3 at http_remux's mount, .m3u8 and .mpd
//   webrtc://HOST[:PORT]/APP/STREAM             http[s]://HOST/rtc/v1/whip/?app=&stream=, whep, whip-play
//   srt://HOST:PORT?streamid=...                stream ids of the standard, of SRS, of MediaMTX
//   http[s]://HOST/players/?protocol=&stream=   the pages: what the page plays or publishes
//
// It resolves no host names.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/snapshot.h"
#include "net/access/gate.h"

namespace server::why {

enum class Protocol : uint8_t { kRtmp, kHttpLive, kHls, kDash, kWebrtc, kRtsp, kSrt };

struct Target {
    Protocol protocol = Protocol::kRtmp;
    bool tls = false;
    bool is_websocket = false;
    bool is_page = false;  // a page's URL: the page makes the protocol's
    net::Action action = net::Action::kPlay;
    std::string host{};    // without brackets
    uint16_t port = 0;     // of the URL, or that of the scheme where it has none
    std::string vhost{};   // as the client names it: not looked up
    std::string app{};     // empty: the URL has none
    std::string stream{};  // the last level
    std::string param{};   // "?k=v&...", as hooks and signatures get it; may be empty
    std::string extension{};
    // Of a URL of HTTP: whether the vhost serves streams at such a path.
    bool is_mounted = true;
    std::string user{}, password{};  // of RTSP
    std::string passphrase{};        // of SRT
    std::string eip{};               // of WebRTC
};

inline constexpr size_t kMaxUrl = 4096;  // bytes

// publishes: for protocols whose URL does not say it. kProtocol: it is no URL that this server could be asked for; the
// text says what is missing, and has no secret of it.
base::Result<Target> resolve(std::string_view url, bool publishes, const config::Snapshot& snapshot);

// "HTTP-FLV", "WebRTC", "RTMPS".
std::string name_of(const Target& target);
// The URL by which clients ask for the target, without its secrets: no user, password and passphrase, and of the
// parameters vhost alone. Empty: there is no URL that is read as this stream again.
std::string url_of(const Target& target, const config::Snapshot& snapshot);

}  // namespace server::why
