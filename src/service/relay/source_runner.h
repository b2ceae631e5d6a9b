#pragma once
// SourceRunner: a stream that this server fetches from others for its players, by whatever protocol (source.h). A
// coroutine asks the servers that may have it, one after another, until one sends it. Where that ends it goes on, while
// the players keep their connections (rejoin_timeout). Pauses between rounds grow; while players wait a server that is
// back is found within a second. Changes of state are logged, not attempts.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/close_reason.h"
#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/sessions/session.h"
#include "runtime/loop/backoff.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "service/relay/server_errors.h"
#include "service/relay/source.h"
#include "service/relayed_stream.h"

namespace service::relay {

class SourceOwner {
  public:
    virtual const config::SnapshotPtr& snapshot() const = 0;
    virtual net::SessionTable& sessions() = 0;
    virtual live::Registry& registry() = 0;
    // The vhost of that name, if its streams are fetched; null: they are not, or it is gone.
    virtual const config::Vhost* fetching(const config::Snapshot& snapshot, std::string_view vhost) const = 0;
    // It is over; the last call of its coroutine. The owner destroys it.
    virtual void source_ended(SourceRunner& runner) = 0;

  protected:
    ~SourceOwner() = default;

  private:
    friend class SourceRunner;
    size_t pausing_ = 0;  // its runners that wait for their next round
};

class SourceRunner {
  public:
    // The last one is that of a configured one without players.
    enum class State : uint8_t { kConnecting, kWaitingForMedia, kStreaming, kPausing, kIdle };
    static constexpr size_t kStates = 5;
    static std::string_view state_name(State state);

    static constexpr int64_t kSteadyMs = 3'000;  // a stream that lasts this long is asked for again at once
    static constexpr int64_t kFirstPauseMs = 3'000, kLongestPauseMs = 30'000;
    // While players wait, a quarter more or less: 0.8 s, and more where so many wait for a round that each had 10 ms.
    static constexpr int64_t kAwaitedPauseMs = 800, kPauseOfEachMs = 10;
    static constexpr int64_t kRefusedMs = 1'000;     // a refusal by all servers counts for players that come so late
    static constexpr int64_t kUnwatchedMs = 10'000;  // the stream is let go so long after its last player

    struct Options {
        std::string log_name{};  // "edge pull"
        net::SessionType session_type = net::SessionType::kNone;
        live::StreamKey key{};
        int64_t connect_ms = 5'000;  // of a server, to its answer
        bool on_demand = true;       // otherwise the stream is always wanted
        // It is there whether the stream is wanted or not, and its name is not for others. Otherwise it is begun for a
        // player, ends when nobody wants the stream, and gives way to a publisher of this server.
        bool is_configured = false;
        int64_t not_before_ms = 0;  // by the loop's clock, of the first attempt
    };

    // The owner must outlive it.
    SourceRunner(SourceOwner& owner, Options options);
    virtual ~SourceRunner() = default;
    SourceRunner(const SourceRunner&) = delete;

    // False: no coroutine was available.
    bool start();
    // source_ended() follows soon.
    void stop(std::string_view why, base::CloseReason reason);
    runtime::Task coroutine() const { return coroutine_; }
    // A player asks for the stream. Does not yield.
    void want();
    // The publisher of this server, to whom it gives way, has left, and there are players.
    void want_again() { again_ = true; }

    const live::StreamKey& key() const { return options_.key; }
    State state() const { return state_; }
    bool had_media() const { return had_media_; }
    bool has_players() const;
    // All servers were asked within the last second, or as far as they are left alone since, and none gives the stream:
    // they refuse it, or agreed and sent no media.
    bool is_refused() const;
    int64_t started_ms() const { return started_ms_; }             // by the loop's clock
    const std::string& server() const { return server_; }          // that it is connected to, or that it tries
    const std::string& problem() const { return errors_.last(); }  // the last failure; empty: it works
    uint64_t attempts() const { return attempts_; }
    uint64_t received() const;  // bytes of the connection
    // Sets its state, too: to be called about twice a second.
    bool is_unwanted();

  protected:
    // The servers that may have the stream now, in the order in which they are to be asked. May yield.
    virtual std::vector<std::string> servers_now(const config::Vhost& vhost) = 0;
    // An error: the server cannot be asked for this stream. Does not yield.
    virtual base::Result<std::unique_ptr<Source>> make_source(const std::string& server,
                                                              const config::Vhost& vhost) = 0;
    // Media flow from server(), or do no longer. Always in pairs.
    virtual void on_streaming() {}
    virtual void on_streaming_ended() {}
    // An attempt at server() has failed. Returns how long to wait at least, whoever waits, ms.
    virtual int64_t on_failure(const base::Error& error) = 0;
    // Whether it is fetched without players, too. May change at any time.
    virtual bool is_kept() const { return false; }

    SourceOwner& owner() const { return owner_; }
    bool is_streaming() const { return streaming_ms_ > 0; }
    // A round begins anew, at once.
    void begin_again();
    // What servers are asked has changed: what they have answered does not count any more.
    void forget_refusal() { refused_until_ms_ = 0; }
    // What it is connected to ends, and is not the last.
    void close_connection(std::string_view why, base::CloseReason reason);

  private:
    friend class Fetch;
    enum class Outcome : uint8_t {
        kFailed,  // no server sends it
        kAgain,   // the next round may begin at once
        kOver,    // nobody wants it, or a publisher of this server has it
    };

    void run();
    bool await_demand();
    Outcome run_round();
    base::Result<void> attempt(const std::string& server);
    void record_failure(const base::Error& error);
    void record_refusal();
    void pause();
    bool is_awaited() const;
    void begin_streaming(const std::string& ip, const std::string& url, std::string_view detail);

    SourceOwner& owner_;
    const Options options_;
    State state_ = State::kConnecting;
    bool ending_ = false;
    bool again_ = false;         // wanted since the round began
    bool reconfigured_ = false;  // since the round began
    bool had_media_ = false;
    const int64_t started_ms_;
    int64_t wanted_ms_ = 0;     // by the loop's clock: when a player asked or was there last; 0: none was
    int64_t streaming_ms_ = 0;  // since when media flow on this connection; 0: they do not
    int64_t least_pause_ms_ = 0;
    bool server_refuses_ = false;   // server() has been asked, and does not give the stream
    int64_t refused_until_ms_ = 0;  // by the loop's clock, see is_refused()
    uint64_t attempts_ = 0;
    std::string server_;
    runtime::Backoff backoff_{kFirstPauseMs, kLongestPauseMs};
    ServerErrors errors_;
    Fetch* fetch_ = nullptr;  // of the connection
    runtime::Event wake_{"the next attempt to fetch a stream"};
    runtime::Task coroutine_;
};

// For lists of relays.
RelayedStream relayed_of(const SourceRunner& runner, std::string_view kind);

}  // namespace service::relay
