#pragma once
// Reads URLs as the services do: the protocol, the address, the vhost, app and stream. Pure: text and a configuration
// in, a Target out. It resolves no host names.
//
//   rtmp[s]://HOST[:PORT]/APP/STREAM            rtsp[s]://HOST[:PORT]/APP/STREAM
//   http[s]://..., ws[s]://...                  .flv .ts .aac .mp3 at http_remux's mount, .m3u8 and .mpd
//   webrtc://HOST[:PORT]/APP/STREAM             http[s]://HOST/rtc/v1/whip/?app=&stream=, whep, whip-play
//   srt://HOST:PORT?streamid=...                stream ids of the standard, of SRS, of MediaMTX
//   http[s]://HOST/players/?protocol=&stream=   the pages: what the page plays or publishes

#include <string>
#include <string_view>

#include "base/result.h"
#include "config/snapshot.h"
#include "service/url/target.h"

namespace server::why {

using service::url::Target;

inline constexpr size_t kMaxUrl = 4096;  // bytes

// publishes: for protocols whose URL does not say it. kProtocol: it is no URL that this server could be asked for; the
// text says what is missing, and has no secret of it. kNotFound: the service of its protocol is not built in.
base::Result<Target> resolve(std::string_view url, bool publishes, const config::Snapshot& snapshot);

// "HTTP-FLV", "WebRTC", "RTMPS".
std::string name_of(const Target& target);
// The URL by which clients ask for the target, without its secrets: no user, password and passphrase, and of the
// parameters vhost alone. Empty: there is no URL that is read as this stream again.
std::string url_of(const Target& target, const config::Snapshot& snapshot);

}  // namespace server::why
