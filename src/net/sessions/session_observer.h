#pragma once
// SessionObserver: is told of the bytes and of the end of every session (service/accounts). Without one nothing is
// computed for it. Its functions must not yield.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/stream_key.h"
#include "net/sessions/traffic.h"

namespace net {

class Session;
struct ClosedSession;

class SessionObserver {
  public:
    // The name under which a client was given its URL (signed_urls.h); empty: none. param: "?k=v".
    virtual std::string token_of(const base::StreamKey& stream, bool publishes, std::string_view param) const = 0;
    // It has ended, or was refused.
    virtual void on_session_end(const ClosedSession& closed) = 0;
    // The session, which is in a stream, had that traffic in the last ms. is_first: it has entered the stream since.
    // At least every SessionTable::kPeriodMs, and when it leaves the stream.
    virtual void on_session_traffic(const Session& session, const Traffic& more, int64_t ms, bool is_first) = 0;
    // Bytes that players without a session got.
    virtual void on_stream_traffic(const base::StreamKey& stream, const Traffic& more) = 0;

  protected:
    ~SessionObserver() = default;
};

}  // namespace net
