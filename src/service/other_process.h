#pragma once
// OtherProcess: the process with which this one serves while the server is being upgraded: the one that it replaces, or
// the one by which it is replaced. Each is the origin of what the other does not publish (service/edge pulls it), so
// that players find streams in whichever process they come to. server/upgrade has the implementation.

#include <memory>

#include "base/result.h"
#include "base/stream_key.h"
#include "runtime/socket/byte_stream.h"

namespace service {

// What edges call that origin.
inline constexpr const char* kOtherProcess = "rtmp://other-process";

class OtherProcess {
  public:
    // Whether there is one now.
    virtual bool is_there() const = 0;
    // It is the one that this process has replaced.
    virtual bool is_replaced() const = 0;
    // Whether a client of it publishes the stream, as far as it has said. Does not yield.
    virtual bool publishes(const base::StreamKey& stream) const = 0;
    // A connection to its RTMP service, on which it asks no guard. Does not yield.
    virtual base::Result<std::unique_ptr<runtime::ByteStream>> connect() = 0;

  protected:
    ~OtherProcess() = default;
};

}  // namespace service
