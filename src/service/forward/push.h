#pragma once
// Push: forwards one stream to one destination. A coroutine has a link of the destination's protocol connect and
// publish (service/push_link.h). From then on the connection is a viewer of the stream's live log, like a player, so
// that it adds no cost per frame, and a slow destination continues at a later keyframe. After a failure it retries at
// growing intervals, as long as the stream is published. Changes of state are logged, not attempts.

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
#include "runtime/loop/current_error.h"
#include "runtime/loop/sync.h"
#include "service/forward/target.h"
#include "service/outgoing_session.h"
#include "service/push_link.h"

namespace service::forward {

class Push;

class PushOwner {
  public:
    // It is over; the last call of its coroutine. The owner destroys it.
    virtual void push_ended(Push& push) = 0;
    // For the next attempt.
    virtual base::Result<std::unique_ptr<PushLink>> make_link(const Push& push) = 0;

  protected:
    ~PushOwner() = default;
};

class Push final : private live::ViewerHandler {
  public:
    enum class State : uint8_t { kConnecting, kPublishing, kWaiting, kLoop, kEnding };

    // path: the servers that the stream has passed through, including this one. Owner and table must outlive it.
    Push(PushOwner& owner, net::SessionTable& sessions, base::Ref<live::Stream> stream, Target target,
         std::string path);
    ~Push();
    Push(const Push&) = delete;

    void start();
    // The stream has ended, or is no longer forwarded there: data already published is still sent. push_ended() follows
    // soon.
    void finish();
    runtime::Task coroutine() const { return coroutine_; }

    const live::StreamKey& key() const { return stream_->key(); }
    const base::Ref<live::Stream>& stream() const { return stream_; }
    const Target& target() const { return target_; }
    const std::string& path() const { return path_; }
    bool ending() const { return ending_; }
    State state() const { return state_; }
    const std::string& problem() const { return error_.text(); }  // empty: it works
    uint64_t attempts() const { return attempts_; }

  private:
    void run();
    base::Result<void> attempt();
    base::Result<void> publish(PushLink::Ready ready);
    base::Result<void> until_over();
    void note_ready();
    void note_failure(const base::Error& error);
    void note_steady();
    base::Result<void> pause();
    void kick(std::string_view why);
    void tick();
    void send_output();

    // ViewerHandler
    void on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) override;
    void on_stream_end(live::Viewer& viewer) override;
    void on_viewer_end(live::Viewer& viewer, std::string_view why) override;

    PushOwner& owner_;
    net::SessionTable& sessions_;
    base::Ref<live::Stream> stream_;
    Target target_;
    std::string path_;
    std::string id_;
    runtime::CurrentError error_;
    State state_ = State::kConnecting;
    bool ending_ = false;
    bool over_ = false;      // the connection has ended; the reason is over_why_
    bool unsteady_ = false;  // the last connection was short
    runtime::Backoff backoff_{500, 10'000};
    uint32_t pauses_ = 0;  // retries since it last worked
    uint64_t attempts_ = 0;
    int64_t ready_ms_ = 0;  // monotonic: when publishing began; 0: not yet
    runtime::Deadline drained_by_ = runtime::Deadline::never();
    std::string over_why_;
    std::unique_ptr<PushLink> link_;
    PushLink::Refusal refusal_ = PushLink::Refusal::kNone;  // of the last attempt
    std::string detail_;                                    // of the connection, for the log
    std::optional<OutgoingSession> session_;                // from the accepted publish on
    std::optional<live::Viewer> viewer_;
    runtime::Event wake_{"a forwarded stream to end"};
    runtime::Task coroutine_;
};

}  // namespace service::forward
