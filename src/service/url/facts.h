#pragma once
// The facts by which a URL is evaluated: server/why reads them, services evaluate them (protocol.h). What only a
// running server knows is in Live.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/stream_key.h"
#include "config/snapshot.h"
#include "media/codec.h"
#include "net/operations.h"
#include "runtime/socket/local_addresses.h"
#include "service/shared_parts.h"
#include "service/url/target.h"

namespace service::url {

struct PublishedStream {
    std::string by{};                  // the type of the publisher's session: "fmle-publish"; empty: not known
    bool is_of_other_process = false;  // of an upgrade (OtherProcess): the rest is not known
    bool is_rtp = false;               // its packets are WebRTC's, and are converted for others
    bool has_b_frames = false;
    std::vector<media::Codec> video{}, audio{};  // in the order of the tracks
};

struct Live {
    std::vector<base::StreamKey> published{};  // all streams that are published; bounded, see kMaxNames
    std::optional<PublishedStream> stream{};   // the one that the URL names
    Fetching fetching = Fetching::kNever;
    size_t connections = 0;  // of both processes of an upgrade
    size_t max_connections = 0;
    net::LoadLevel load = net::LoadLevel::kNormal;
    std::vector<StreamOutput> failing_outputs{};  // of the stream
    std::optional<bool> listens{};  // whether this process has a socket at the URL's port; nothing: not tried
};
inline constexpr size_t kMaxNames = 10'000;

struct CertificateFacts {
    std::string error{};    // why it cannot be read; empty: it was
    bool has_host = false;  // it is valid for the URL's host
    int64_t not_after_s = 0;
};

struct Facts {
    const config::Snapshot& snapshot;  // must outlive the facts
    Target target;
    std::string ip = "127.0.0.1";  // of the client that is asked about
    std::string page{};            // the web page that it comes from; empty: none
    int64_t now_s = 0;
    std::vector<runtime::LocalAddress> local{};     // empty: not known
    std::optional<CertificateFacts> certificate{};  // of the listener, where the URL is of TLS
    std::optional<Live> live{};                     // nothing: the configuration alone is known
};

}  // namespace service::url
