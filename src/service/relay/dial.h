#pragma once
// Connections to other servers, for what fetches streams or passes them on: TCP and TLS, and by RTMP the handshake and
// the request up to its answer. All of it runs in the caller's coroutine.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/rtmp/client_session.h"
#include "protocol/rtmp/handshake.h"
#include "protocol/rtmp/url.h"
#include "runtime/loop/deadline.h"
#include "runtime/socket/byte_stream.h"
#include "service/client_tls.h"

namespace service::relay {

// Connects, within connect_limit, and does TLS within limit. tls: null for none. Small writes are sent at once. Yields.
base::Result<std::unique_ptr<runtime::ByteStream>> dial(const std::string& host, uint16_t port, ClientTls* tls,
                                                        runtime::Deadline connect_limit, runtime::Deadline limit);

// The bytes that a server has sent in the handshake: an argument of rtmp::ClientSession.
inline constexpr uint32_t kRtmpHandshakeBytes = 1 + 2 * ::rtmp::kHandshakeSize;

// The RTMP handshake of a client. Yields.
base::Result<void> shake_hands(runtime::ByteStream& socket, runtime::Deadline limit);

// The same by the URL, and the RTMP handshake. tls: for rtmps. Yields.
base::Result<std::unique_ptr<runtime::ByteStream>> dial_rtmp(const ::rtmp::Url& url, ClientTls& tls,
                                                             runtime::Deadline connect_limit, runtime::Deadline limit);

// Starts the session, and exchanges messages until its request is accepted; media that follow at once go to its
// handler. doing: for the error's text, "asking to publish". Yields.
base::Result<void> await_ready(::rtmp::ClientSession& session, runtime::ByteStream& socket, std::string_view doing,
                               runtime::Deadline limit);

}  // namespace service::relay
