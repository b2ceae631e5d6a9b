#pragma once
// Pull: one stream of an edge, pulled from an origin for as long as it has players, however many. A coroutine connects
// to the vhost's origins in turn until one of them sends the stream, and publishes it. Where that ends it goes on with
// the next one, while the players keep their connections (rejoin_timeout). Changes of state are logged, not attempts.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/close_reason.h"
#include "base/ip.h"
#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/current_error.h"
#include "runtime/loop/sync.h"
#include "service/edge/config.h"
#include "service/edge/origins.h"
#include "service/edge/upstream.h"
#include "service/identity.h"

namespace service::edge {

class Pull;
class PullConnection;

class PullOwner {
  public:
    virtual const config::SnapshotPtr& snapshot() const = 0;
    virtual net::SessionTable& sessions() = 0;
    virtual live::Registry& registry() = 0;
    virtual Origins& origins() = 0;
    virtual ClientTls& tls() = 0;
    virtual const Identity& identity() const = 0;
    virtual const std::string& request_name() const = 0;
    // The vhost of that name, if its streams are pulled; null: they are not.
    virtual const config::Vhost* fetching(const config::Snapshot& snapshot, std::string_view vhost) const = 0;
    // The servers that have the stream now, as far as that is known beside the vhost's origins. Yields.
    virtual std::vector<std::string> locate(const config::Vhost& vhost, const live::StreamKey& key, bool by_http) = 0;
    // It is over; the last call of its coroutine. The owner destroys it.
    virtual void pull_ended(Pull& pull) = 0;

  protected:
    ~PullOwner() = default;
};

// Viewers of its logs, its players by WebRTC, and one for all who fetch files, without servers to which it is forwarded
// or passed up.
size_t players_of(live::Stream& stream);

class Pull {
  public:
    enum class State : uint8_t { kConnecting, kWaitingForMedia, kStreaming, kPausing };
    static constexpr size_t kStates = 4;
    static std::string_view state_name(State state);

    static constexpr int64_t kConnectMs = 5'000;     // of an origin, to its answer
    static constexpr int64_t kSilenceMs = 5'000;     // an origin that sends nothing for so long is left
    static constexpr int64_t kRoundMs = 3'000;       // all origins are tried once in so long
    static constexpr int64_t kNowhereMs = 1'000;     // where a stream is that could not be pulled is looked up so often
    static constexpr int64_t kUnwatchedMs = 10'000;  // the stream is let go so long after its last player
    static constexpr int64_t kAskedMs = 35'000;      // players by HTTP wait for up to 30 s by default
    static constexpr int kMaxRedirects = 3;

    // address: of the client that asks first. not_before_ms: by the loop's clock, of the first attempt. The owner must
    // outlive it.
    Pull(PullOwner& owner, live::StreamKey key, const base::IpAddress& address, int64_t not_before_ms);
    ~Pull();
    Pull(const Pull&) = delete;

    // False: no coroutine was available.
    bool start();
    // pull_ended() follows soon.
    void stop(std::string_view why, base::CloseReason reason);
    runtime::Task coroutine() const { return coroutine_; }
    // The vhost's configuration has changed: a connection that no longer fits it is replaced.
    void reconfigure();
    // A player asks for the stream. Does not yield.
    void want(const net::Visitor& visitor);
    // The publisher of this server, to whom it gives way, has left, and there are players.
    void want_again() { again_ = true; }

    const live::StreamKey& key() const { return key_; }
    const base::IpAddress& address() const { return address_; }
    bool had_media() const { return had_media_; }
    State state() const { return state_; }
    bool ending() const { return ending_; }
    // There is no server to pull it from, as far as it is known.
    bool is_nowhere() const { return nowhere_; }
    bool has_watchers() const { return watchers() > 0; }
    int64_t started_ms() const { return started_ms_; }            // by the loop's clock
    const std::string& origin() const { return origin_; }         // that it is connected to, or that it tries
    const std::string& problem() const { return error_.text(); }  // the last failure; empty: it works
    uint64_t attempts() const { return attempts_; }
    // Whether the stream is published by this pull.
    bool publishes(const live::Stream& stream) const;

    // For its connection.
    void note_open() { state_ = State::kWaitingForMedia; }
    void note_streaming(const Source& source, const std::string& ip);
    // Sets its state, too: to be called about twice a second.
    bool is_unwanted();
    PullOwner& owner() { return owner_; }

  private:
    void run();
    // True: another round may begin at once, because the stream flowed for a while.
    bool run_round();
    bool has_moved();
    std::vector<std::string> origins_now(const config::Vhost& vhost);
    base::Result<void> attempt(const std::string& origin);
    void note_failure(const std::string& origin, const base::Error& error);
    size_t watchers() const;
    UpstreamOptions upstream_options(const VhostConfig& cluster) const;

    PullOwner& owner_;
    const live::StreamKey key_;
    const base::IpAddress address_;
    State state_ = State::kConnecting;
    bool ending_ = false;
    bool done_ = false;   // without a failure: nobody wants it, or another publishes the stream
    bool again_ = false;  // wanted since it was done
    bool reconfigured_ = false;
    bool nowhere_ = false;
    std::vector<std::string> located_;  // by the last look-up
    std::string silent_;                // the origin that failed last by a time limit; empty: another way, or none
    bool by_flv_ = false;               // its first player came by HTTP-FLV
    bool had_media_ = false;
    const int64_t started_ms_, not_before_ms_;
    int64_t wanted_ms_ = 0;     // by the loop's clock: when a player asked last
    int64_t watched_ms_ = 0;    // when it was last seen with players
    int64_t streaming_ms_ = 0;  // since when media flow on this connection; 0: they do not
    uint64_t attempts_ = 0;
    std::string origin_;
    runtime::CurrentError error_;
    std::string path_;    // the servers that the requests of its players have passed, of the latest first
    std::string params_;  // "?k=v" of the first player, or of a later one after a refusal
    bool params_refused_ = false;
    PullConnection* connection_ = nullptr;
    runtime::Event wake_{"the next attempt to pull"};
    runtime::Task coroutine_;
};

}  // namespace service::edge
