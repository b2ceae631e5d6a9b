#pragma once
// RedisClient: one connection to a Redis, over the loop's sockets. Commands of several coroutines share it: they are
// sent as they come, and the replies, which come in their order, are handed out. A Redis that does not answer in time
// is taken for away: the connection ends, every call in progress fails, and later ones fail at once until it answers
// again. Attempts to connect follow each other after a growing pause. Changes of its state are logged, not attempts.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/redis/reply_reader.h"
#include "runtime/loop/backoff.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/current_error.h"
#include "runtime/loop/sync.h"
#include "runtime/socket/byte_stream.h"

namespace service::cluster {

// "HOST", "HOST:PORT", "[::1]:PORT".
struct RedisAddress {
    static constexpr uint16_t kDefaultPort = 6379;
    std::string host{};
    uint16_t port = kDefaultPort;
};
// kConfig: it is no address.
base::Result<RedisAddress> parse_redis_address(std::string_view text);

struct RedisOptions {
    bool enabled = false;  // otherwise there is no connection
    std::string server = "127.0.0.1:6379";
    std::string user{};      // of AUTH; empty: Redis' default user
    std::string password{};  // empty: no AUTH
    int db = 0;
    int timeout = 1'000;  // ms, for the connection with its AUTH, and for each answer
    bool operator==(const RedisOptions&) const = default;
};

class RedisClient {
  public:
    enum class State : uint8_t { kOff, kConnecting, kUp, kAway };
    static std::string_view state_name(State state);

    static constexpr size_t kMaxCalls = 1'024;  // in progress
    static constexpr int64_t kPingMs = 2'000;   // it is asked whether it is there when nothing was asked for so long

    // on_up: it answers, again; must not yield.
    explicit RedisClient(std::function<void()> on_up) : on_up_(std::move(on_up)) {}
    ~RedisClient();  // stops: yields
    RedisClient(const RedisClient&) = delete;

    void start(RedisOptions options);
    void stop();
    // Connects again where they differ. Does not yield.
    void reload(const RedisOptions& options);

    // Sends `count` commands and returns their replies, which may be errors of Redis. kClosed, kTimeout: Redis is away.
    // kLimit: too many calls. Yields, for the timeout at most; not at all while Redis is away.
    base::Result<std::vector<redis::Reply>> call(std::string commands, size_t count);

    State state() const { return state_; }
    const std::string& problem() const { return error_.text(); }  // of the last connection; empty: it works
    const RedisOptions& options() const { return options_; }
    uint64_t calls() const { return calls_; }
    uint64_t failures() const { return failures_; }        // calls
    uint64_t connections() const { return connections_; }  // attempts

  private:
    struct Call {
        size_t count;
        runtime::Deadline limit;
        std::vector<redis::Reply> replies{};
        std::string problem{};  // not empty: it failed
        runtime::Event done{"an answer of Redis"};
    };

    void begin();
    void run();
    base::Result<void> serve();
    base::Result<void> greet(runtime::ByteStream& socket, redis::ReplyReader& reader, runtime::Deadline limit);
    base::Result<void> read_once();
    base::Result<void> take_replies();
    base::Result<void> flush();
    void on_connection_end(const base::Error& error);
    void fail_calls(const std::string& problem);

    const std::function<void()> on_up_;
    RedisOptions options_;
    State state_ = State::kOff;
    bool reconfigured_ = false;
    bool has_failed_ = false;  // the last connection
    runtime::Backoff backoff_{250, 2'000};
    runtime::CurrentError error_;
    std::unique_ptr<runtime::ByteStream> socket_;
    std::unique_ptr<redis::ReplyReader> reader_;
    std::deque<std::shared_ptr<Call>> pending_;
    std::string output_;  // not sent yet
    int64_t read_ms_ = 0;
    uint64_t calls_ = 0, failures_ = 0, connections_ = 0;
    runtime::Event changed_{"Redis"};
    runtime::Task task_;
};

}  // namespace service::cluster
