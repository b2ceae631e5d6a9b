#pragma once
// The messages by which two processes of the server agree about an upgrade, and serve together until the replaced one
// has no clients left: lines of JSON, {"kind": "hello", ...}, some with descriptors (runtime/socket/process_channel.h).
//
// The replaced process (R) has started its successor (S):
//
//   S  hello      version, pid, program      S has checked its configuration
//   R  sockets    descriptors                of all listeners and ports; several messages
//   R  pid_file   descriptor                 with its lock
//   R  tickets    text                       the secret of TLS session tickets (runtime/socket/tls_tickets.h)
//   R  start                                 that was all
//   S  ready      or failed, text            S has started all its services, and serves nobody yet
//   R  state      text, descriptor           what R's service of that name leaves (runtime/loop/handover_state.h); none
//                                            or several
//   R  commit                                S serves from now on, and R accepts no new clients
//
// and from then on both, in any order:
//
//      published, unpublished   keys         clients of the sender publish these streams, or do no longer
//      stream     descriptor                 a connection to the receiver's RTMP service
//      datagrams  descriptor                 by which the receiver gets its datagrams from now on (S only)
//      claim      id, keys                   a client of the sender wants to publish a stream that the receiver has
//      verdict    id, ok, text               the receiver's publisher is gone, or why not
//      http       text, descriptor           a connection to the receiver's HTTP router of that name (link_http.h)
//      figures    figures                    how much of the server the sender is, every second
//      ending                                R: it is about to end, its last counters can be read now; S: it has them
//      end                                   R is to end now, with the clients that it has (S only)
//
// Unknown members are ignored, and so are messages of an unknown kind; the version is raised when the meaning of one
// changes. Both processes are of one user, but one of them may be broken: sizes are limited, and names are data. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/stream_key.h"
#include "service/other_process.h"

namespace server::upgrade {

inline constexpr int kVersion = 1;
// Keys that are longer, all three parts together, are not named: their streams stay unknown to the other process.
inline constexpr size_t kMaxKeyBytes = 4 * 1024;
// Of one message, before they are written.
inline constexpr size_t kMaxKeysBytes = 8 * 1024, kMaxKeys = 256;
// Addresses of clients in one message; those with the most connections.
inline constexpr size_t kMaxAddresses = 1'000;

enum class Kind : uint8_t {
    kUnknown,  // of another version
    kHello,
    kSockets,
    kPidFile,
    kStart,
    kReady,
    kFailed,
    kCommit,
    kPublished,
    kUnpublished,
    kStream,
    kDatagrams,
    kClaim,
    kVerdict,
    kTickets,
    kHttp,
    kFigures,
    kEnding,
    kEnd,
    kState,
};

struct Message {
    Kind kind = Kind::kUnknown;
    int version = 0;  // kHello
    int64_t pid = 0;  // kHello
    // kHello: the program's version; kFailed, kVerdict: the reason; kTickets: the secret; kHttp: which router; kState:
    // the service
    std::string text{};
    uint64_t id = 0;          // kClaim, kVerdict
    bool is_granted = false;  // kVerdict
    std::vector<base::StreamKey> keys{};
    std::optional<service::ProcessFigures> figures{};  // kFigures

    bool operator==(const Message&) const = default;
};

std::string_view kind_name(Kind kind);
std::string write_message(const Message& message);
// kProtocol: it is none.
base::Result<Message> parse_message(std::string_view text);
// As many messages as are needed.
std::vector<Message> messages_of(Kind kind, const std::vector<base::StreamKey>& keys);

}  // namespace server::upgrade
