#pragma once
// Push: passes a stream that is published at an edge up to an origin, by RTMP. A coroutine connects to the vhost's
// origins in turn until one takes it. From then on the connection is a viewer of the stream's live log, like a player.
// Meanwhile the stream's GOP cache is the buffer: what an origin gets begins at the newest keyframe. Without an origin
// the publisher is ended, and is told why: players at other edges would wait for nothing.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/close_reason.h"
#include "base/ref.h"
#include "base/result.h"
#include "config/snapshot.h"
#include "live/fanout/viewer.h"
#include "live/hub/stream.h"
#include "protocol/rtmp/client_session.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/current_error.h"
#include "runtime/loop/sync.h"
#include "service/edge/config.h"
#include "service/edge/origin.h"
#include "service/edge/origin_health.h"
#include "service/outgoing_session.h"
#include "service/rtmp_dial.h"

namespace service::edge {

net::SessionType edge_push_type();

class Push;

class PushOwner {
  public:
    virtual const config::SnapshotPtr& snapshot() const = 0;
    virtual net::SessionTable& sessions() = 0;
    virtual OriginHealth& health() = 0;
    virtual ClientTls& tls() = 0;
    // It is over; the last call of its coroutine. The owner destroys it.
    virtual void push_ended(Push& push) = 0;

  protected:
    ~PushOwner() = default;
};

class Push final : private live::ViewerHandler, private ::rtmp::ClientHandler {
  public:
    enum class State : uint8_t { kConnecting, kPublishing, kWaiting };
    static constexpr size_t kStates = 3;
    static std::string_view state_name(State state);

    static constexpr int64_t kConnectMs = 150;     // of an origin's TCP connection, as SRS has it
    static constexpr int64_t kAcceptMs = 5'000;    // from there to the accepted publish
    static constexpr int64_t kRoundMs = 500;       // all origins are tried once in so long
    static constexpr int64_t kWithoutMs = 10'000;  // a stream that had an origin may be without one for so long

    // path: the servers that the stream has passed, with this one. The owner must outlive it.
    Push(PushOwner& owner, base::Ref<live::Stream> stream, std::string path);
    ~Push();
    Push(const Push&) = delete;

    // False: no coroutine was available.
    bool start();
    // The stream has ended, or the vhost is no edge any more: what was published is still sent, for a short time.
    // push_ended() follows.
    void finish();
    // Like finish(), without sending the rest.
    void stop();
    // The vhost's configuration has changed.
    void reconfigure();
    runtime::Task coroutine() const { return coroutine_; }

    const live::Stream& stream() const { return *stream_; }
    State state() const { return state_; }
    bool ending() const { return ending_; }
    const std::string& origin() const { return origin_; }
    const std::string& problem() const { return error_.text(); }  // the last failure; empty: it works
    uint64_t attempts() const { return attempts_; }

  private:
    void run();
    // An error ends the publisher: no origin takes the stream.
    base::Result<void> run_round();
    base::Result<void> attempt(const std::string& origin, const VhostConfig& cluster);
    base::Result<void> connect(const relay::Target& target, std::unique_ptr<runtime::ByteStream>& socket);
    base::Result<void> publish(const relay::Target& target, std::unique_ptr<runtime::ByteStream> socket);
    void kick(std::string_view why);
    void send_output();

    // ViewerHandler
    void on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) override;
    void on_stream_end(live::Viewer& viewer) override;
    void on_viewer_end(live::Viewer& viewer, std::string_view why) override;
    // ClientHandler
    void on_ready() override {}
    base::Result<void> on_media(::rtmp::Message&) override { return {}; }
    void on_status(std::string_view code, std::string_view description) override;

    PushOwner& owner_;
    base::Ref<live::Stream> stream_;
    const std::string path_, id_, params_;
    State state_ = State::kConnecting;
    bool ending_ = false;
    bool over_ = false;         // the connection has ended
    bool was_taken_ = false;    // an origin has accepted the stream
    int64_t without_since_ms_;  // by the loop's clock: since when no origin has it
    uint64_t attempts_ = 0;
    runtime::CurrentError error_;
    std::string origin_, over_why_;
    runtime::Deadline drained_by_ = runtime::Deadline::never();
    std::unique_ptr<::rtmp::ClientSession> session_;
    std::optional<OutgoingSession> published_;  // from the accepted publish on
    std::optional<live::Viewer> viewer_;
    runtime::Event wake_{"a passed-up stream to end"};
    runtime::Task coroutine_;
};

}  // namespace service::edge
