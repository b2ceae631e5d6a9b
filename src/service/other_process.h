#pragma once
// OtherProcess: the process with which this one serves while the server is being upgraded: the one that it replaces, or
// the one by which it is replaced. Each is the origin of what the other does not publish (service/edge pulls it), so
// that players find streams in whichever process they come to; and the new one asks the other about its clients and
// streams, so that the API and the metrics have both. server/upgrade has the implementation.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/result.h"
#include "base/stream_key.h"
#include "net/http/http_client.h"
#include "net/sessions/traffic.h"
#include "runtime/socket/byte_stream.h"

namespace service {

// What edges call that origin.
inline constexpr const char* kOtherProcess = "rtmp://other-process";

// How much of the server a process is.
struct ProcessFigures {
    int64_t pid = 0;
    std::string version{};
    uint64_t connections = 0;    // net::Admission's
    uint64_t stream_memory = 0;  // bytes
    uint64_t publishers = 0;
    uint64_t players = 0;
    net::Traffic traffic{};  // of its clients, and of the processes before it
    // The connections of each address, of those with the most.
    std::vector<std::pair<base::IpAddress, uint32_t>> addresses{};

    bool operator==(const ProcessFigures&) const = default;
};

// A request to the HTTP routers of the other process.
struct OtherRequest {
    enum class Router : uint8_t {
        kApi,   // of http_api; it checks nobody's rights: the caller has done that
        kHttp,  // of http_server
        kOwn,   // Offers::other_process_router
    };
    static constexpr size_t kMaxBody = 16u << 20;

    Router router = Router::kApi;
    http::Method method = http::Method::kGet;
    std::string target{};  // "/api/v1/clients?count=1"
    http::Headers headers{};
    std::string body{};
    int64_t within_ms = 1'000;
    // The answer may take that long although the process is well.
    bool is_slow = false;
};

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
    // What it answers, whatever the status is. kClosed: it has gone, or does not know how to; kTimeout; kLimit: too
    // much is being asked, or the answer is too long; kCancelled. Yields.
    virtual base::Result<net::HttpAnswer> ask(OtherRequest request) = 0;
    // As it has said last, every second; null: nothing yet, or it has gone.
    virtual const ProcessFigures* figures() const = 0;
    // The traffic of the process that this one has replaced, as it has said last: also when it has gone.
    virtual net::Traffic earlier_traffic() const = 0;
    // When the two began to serve together; wall clock.
    virtual int64_t since_ms() const = 0;
    // Ends it with all its clients, soon. kClosed.
    virtual base::Result<void> end_other() = 0;

  protected:
    ~OtherProcess() = default;
};

}  // namespace service
