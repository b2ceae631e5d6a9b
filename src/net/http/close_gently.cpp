#include "net/http/close_gently.h"

#include <algorithm>

namespace net {

using runtime::Deadline;

void close_gently(runtime::ByteStream& stream, int64_t within_ms) {
    constexpr int64_t kPeerReadsMs = 1'000;
    constexpr size_t kMaxUnread = 2 * 1024 * 1024;  // many clients read no answer after a failed write
    if (!stream.finish(Deadline::in_ms(within_ms))) return;
    const Deadline deadline = Deadline::in_ms(kPeerReadsMs);
    for (size_t total = 0; total < kMaxUnread;) {
        const auto got = stream.read(runtime::shared_read_buffer(), deadline);
        if (!got || *got == 0) return;
        total += *got;
    }
}

}  // namespace net
