#pragma once
// SinkRunner: a published stream that this server passes on to another one, by whatever protocol (service/push_link.h).
// A coroutine has a link connect and publish. From then on the connection is a viewer of the stream's live log, like a
// player, so that it adds no cost per frame, and a slow server continues at a later keyframe; by datagrams the link
// sends by itself (service/packet_sender.h). After a failure the next
// server is tried, or the same one after a pause, as long as the stream is published. Changes of state are logged, not
// attempts.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "base/result.h"
#include "live/fanout/viewer.h"
#include "live/hub/stream.h"
#include "net/sessions/session.h"
#include "runtime/loop/backoff.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "service/push_link.h"
#include "service/relay/outgoing_session.h"
#include "service/relay/server_errors.h"
#include "service/shared_parts.h"

namespace service::relay {

class SinkRunner;

class SinkOwner {
  public:
    virtual net::SessionTable& sessions() = 0;
    // It is over; the last call of its coroutine. The owner destroys it.
    virtual void sink_ended(SinkRunner& runner) = 0;

  protected:
    ~SinkOwner() = default;
};

class SinkRunner : private live::ViewerHandler, private PacketSenderUser {
  public:
    enum class State : uint8_t { kConnecting, kPublishing, kWaiting, kLoop };

    struct Options {
        std::string log_name{};        // "forward"
        int64_t connect_ms = 10'000;   // from the first packet to the accepted publish
        int64_t longest_pause_ms = 0;  // the first one is kFirstPauseMs
        bool gives_up_loops = false;   // where the stream comes from the other server it is not tried again
    };
    static constexpr int64_t kFirstPauseMs = 500;
    static constexpr int64_t kSteadyMs = 5'000;  // after a connection that lasted so long the next one begins at once

    // path: the servers that the stream has passed, including this one. The owner must outlive it.
    SinkRunner(SinkOwner& owner, Options options, base::Ref<live::Stream> stream, std::string path);
    virtual ~SinkRunner();
    SinkRunner(const SinkRunner&) = delete;

    // False: no coroutine was available.
    bool start();
    // The stream has ended, or is no longer passed on: what was published is still sent, for a limited time.
    // sink_ended() follows.
    void finish();
    // Like finish(), without sending the rest.
    void stop();
    runtime::Task coroutine() const { return coroutine_; }

    live::Stream& stream() const { return *stream_; }
    const live::StreamKey& key() const { return stream_->key(); }
    const std::string& path() const { return path_; }
    bool ending() const { return ending_; }
    State state() const { return state_; }
    const std::string& server() const { return server_; }          // that it is connected to, or that it tries
    const std::string& problem() const { return errors_.last(); }  // the current error; empty: it works
    bool fails() const { return !errors_.last().empty(); }
    uint64_t attempts() const { return attempts_; }
    net::Traffic traffic() const;  // of the connection

  protected:
    // The servers that may take the stream now, as they may be shown, in the order in which they are to be tried.
    virtual std::vector<std::string> servers_now() = 0;
    virtual base::Result<std::unique_ptr<PushLink>> make_link(const std::string& server) = 0;
    // server() has the stream, or has it no longer. Always in pairs.
    virtual void on_publishing() {}
    virtual void on_publishing_ended() {}
    // An attempt at server() has failed; or all of a round have, or there was no server. An error: the stream is not
    // passed on any more, and its publisher is ended for that reason.
    virtual base::Result<void> on_failure(const base::Error&) { return {}; }
    virtual base::Result<void> on_round_failed() { return {}; }

    // The connection ends, and is not the last.
    void close_connection(std::string_view why, base::CloseReason reason);

  private:
    void run();
    base::Result<void> run_round();
    base::Result<void> attempt(const std::string& server);
    base::Result<void> publish(PushLink::Ready ready);
    void begin_sending(PushLink::Ready ready);
    bool is_sending() const { return viewer_ || sender_; }
    void abort(std::string_view why, base::CloseReason reason);
    base::Result<void> until_over();
    void record_ready();
    void record_steady();
    void record_failure(const base::Error& error);
    base::Result<void> pause();
    void tick();
    void send_output();

    // ViewerHandler
    void on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) override;
    void on_stream_end(live::Viewer& viewer) override;
    void on_viewer_end(live::Viewer& viewer, std::string_view why) override;
    // PacketSenderUser
    void on_sender_end(std::string_view why, base::CloseReason reason) override;

    SinkOwner& owner_;
    const Options options_;
    const base::Ref<live::Stream> stream_;
    const std::string path_, id_;
    State state_ = State::kConnecting;
    bool ending_ = false;
    bool over_ = false;  // the connection has ended; the reason is over_why_, over_reason_
    base::CloseReason over_reason_ = base::CloseReason::kUnknown;
    bool unsteady_ = false;  // the last connection to this server was short
    uint32_t pauses_ = 0;    // retries since it last worked
    uint64_t attempts_ = 0;
    int64_t ready_ms_ = 0;  // by the loop's clock: when publishing began; 0: not yet
    runtime::Backoff backoff_;
    runtime::Deadline drained_by_ = runtime::Deadline::never();
    std::string server_, over_why_;
    ServerErrors errors_;
    std::unique_ptr<PushLink> link_;
    PushLink::Refusal refusal_ = PushLink::Refusal::kNone;  // of the last attempt
    std::string detail_;                                    // of the connection, for the log
    std::optional<OutgoingSession> session_;                // from the accepted publish on
    // Of the accepted connection one of both.
    std::optional<live::Viewer> viewer_;
    PacketSender* sender_ = nullptr;  // of the link
    runtime::Event wake_{"a stream that is passed on to end"};
    runtime::Task coroutine_;
};

// For lists of a stream's outputs (service/shared_parts.h).
inline StreamOutput output_of(const SinkRunner& runner, std::string output, std::string to) {
    using State = StreamOutput::State;
    if (runner.fails()) return {std::move(output), std::move(to), State::kFails, runner.problem()};
    const bool works = runner.state() == SinkRunner::State::kPublishing;
    return {std::move(output), std::move(to), works ? State::kWorks : State::kStarts};
}

// For lists of relays.
inline RelayedStream relayed_of(const SinkRunner& runner, std::string_view kind) {
    using State = RelayedStream::State;
    const bool works = runner.state() == SinkRunner::State::kPublishing;
    return {.kind = kind,
            .stream = runner.key(),
            .server = runner.server(),
            .state = runner.fails() ? State::kFails : (works ? State::kWorks : State::kStarts),
            .problem = runner.problem(),
            .attempts = runner.attempts(),
            .bytes = runner.traffic().sent_bytes};
}

}  // namespace service::relay
