#pragma once
// A write that a sender thread makes while a coroutine waits for it. For what takes the loop much longer than waking a
// thread, about 10 us: the encryption of a large body.

#include <sys/uio.h>

#include <span>

#include "base/result.h"
#include "runtime/socket/byte_stream.h"

namespace runtime {

// As stream.try_writev(), which is called where there are no sender threads, or the stream cannot be lent now. At most
// SendJob::kMaxParts parts. Nobody else uses the stream meanwhile. Yields; kCancelled: something may have been written.
base::Result<size_t> write_by_sender(ByteStream& stream, std::span<const iovec> parts);

}  // namespace runtime
