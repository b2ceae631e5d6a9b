#pragma once
// The end of an HTTP connection whose client may still be sending.

#include <cstdint>

#include "runtime/socket/byte_stream.h"

namespace net {

// Lets the peer read the last response: closing with unread input would reset the connection and lose it. within_ms:
// limit for sending what is still in the TLS layer. Yields.
void close_gently(runtime::ByteStream& stream, int64_t within_ms);

}  // namespace net
