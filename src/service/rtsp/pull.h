#pragma once
// Pull: the stream of an ingest of RTSP. A coroutine connects to the camera, plays what it describes and publishes that
// (pull_connection.h). After a failure it tries again at growing intervals, with some chance in them, so that many
// cameras are not asked at the same moment. Changes of state are logged, not attempts.

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/sessions/session.h"
#include "runtime/loop/backoff.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/current_error.h"
#include "runtime/loop/sync.h"
#include "service/client_tls.h"
#include "service/rtsp/pull_config.h"

namespace service::rtsp {

class Pull;
class PullConnection;

class PullOwner {
  public:
    virtual const config::SnapshotPtr& snapshot() const = 0;
    virtual net::SessionTable& sessions() = 0;
    virtual live::Registry& registry() = 0;
    virtual ClientTls& tls() = 0;  // for rtsps://
    // It is over; the last call of its coroutine. The owner destroys it.
    virtual void pull_ended(Pull& pull) = 0;

  protected:
    ~PullOwner() = default;
};

class Pull {
  public:
    enum class State : uint8_t { kIdle, kConnecting, kStreaming, kWaiting };
    // Also after a refusal of the credentials: asking often may lock the account.
    static constexpr int64_t kLongestPauseMs = 30'000;

    // The owner must outlive it.
    Pull(PullOwner& owner, PullTask task);
    ~Pull();
    Pull(const Pull&) = delete;

    // False: no coroutine was available.
    bool start();
    // pull_ended() follows soon.
    void stop(std::string_view why);
    runtime::Task coroutine() const { return coroutine_; }
    // A player asks for the stream: one that is pulled on demand is pulled for a while. Does not yield.
    void want();

    const PullTask& task() const { return task_; }
    State state() const { return state_; }
    bool ending() const { return ending_; }
    const std::string& problem() const { return error_.text(); }  // empty: none
    uint64_t attempts() const { return attempts_; }

    // For its connection: the first frames were published; media has flowed since.
    void note_streaming(const std::string& ip, bool tcp);
    // The camera accepts Basic alone, and was sent the password over a plain connection. Logged once.
    void note_password_in_the_clear();
    // Of a pull on demand: nobody has watched for a while.
    bool is_unwanted() const;

  private:
    void run();
    base::Result<void> attempt();
    base::Result<void> await_demand();
    base::Result<void> pause(const base::Error& error);
    void note_failure(const base::Error& error);

    PullOwner& owner_;
    const PullTask task_;
    State state_ = State::kIdle;
    bool ending_ = false;
    bool streamed_ = false;  // in this attempt
    bool warned_ = false;    // of the password in the clear
    runtime::Backoff backoff_{3'000, kLongestPauseMs};
    uint64_t attempts_ = 0;
    int64_t wanted_ms_ = 0;  // by the loop's clock: when a player asked last; 0: never
    runtime::CurrentError error_;
    std::string stop_reason_;
    PullConnection* connection_ = nullptr;
    runtime::Event wanted_{"a player of a stream that is pulled on demand"};
    runtime::Task coroutine_;
};

}  // namespace service::rtsp
