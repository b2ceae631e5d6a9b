#pragma once
// The last sessions that ended, with what is known of them: to answer why a player was disconnected. A ClosedSession is
// the one event of a session's end, of every protocol: lists, the access log are made from
// it. Bounded: the newest kMaxSessions are kept, and texts are cut; the total number, and the number for each reason,
// are counted.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/close_reason.h"
#include "base/ref.h"
#include "base/stream_key.h"
#include "net/sessions/session_figures.h"
#include "net/sessions/session_type.h"
#include "net/sessions/shared_text.h"
#include "net/sessions/traffic.h"

namespace net {

struct ClosedSession {
    std::string id{};
    std::string ip{};
    SessionType type{};
    std::string stream{};    // "vhost/app/stream", as far as known
    int64_t started_ms = 0;  // wall clock
    int64_t ended_ms = 0;    // 0: it has not ended
    Traffic traffic{};
    base::CloseReason reason{};
    std::string text{};
    std::string vhost_id{};  // of its stream's account; empty: it was in no stream
    std::string stream_id{};
    base::StreamKey key{};          // of the stream that it was in; empty: none
    int64_t duration_ms = 0;        // by the monotonic clock
    base::Ref<SharedText> agent{};  // what it calls its program; null: nothing
    std::string page{};             // the web page that it came from, without a query
    std::string token{};            // SessionObserver::token_of(); empty without an observer
    SessionFigures figures{};

    std::string_view agent_text() const { return agent ? std::string_view(agent->text()) : std::string_view(); }
};

class ClosedSessions {
  public:
    static constexpr size_t kMaxSessions = 1000;
    static constexpr size_t kMaxTextBytes = 256;

    void add(ClosedSession closed);
    // Counts an ended session without keeping it: plain HTTP requests would push out all others.
    void count(base::CloseReason reason) { ++counts_[static_cast<size_t>(reason)]; }

    size_t size() const { return kept_.size(); }
    // 0 is the newest; index < size().
    const ClosedSession& newest(size_t index) const;
    uint64_t count_of(base::CloseReason reason) const { return counts_[static_cast<size_t>(reason)]; }
    // Of these, those of clients that published or played, or would have: is_client().
    uint64_t clients_of(base::CloseReason reason) const { return of_clients_[static_cast<size_t>(reason)]; }
    uint64_t total() const { return total_; }    // all that were passed to add()
    uint64_t errors() const { return errors_; }  // of these

  private:
    std::vector<ClosedSession> kept_;
    size_t next_ = 0;  // the oldest, once it is full
    std::array<uint64_t, base::kCloseReasons> counts_{}, of_clients_{};
    uint64_t total_ = 0;
    uint64_t errors_ = 0;
};

}  // namespace net
