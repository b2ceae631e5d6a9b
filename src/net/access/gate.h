#pragma once
// Gate: decides which clients may connect, publish and play. Services call it before they admit a client; it asks the
// Guards one after the other: address rules, signed URLs, hooks. The first refusal counts. An admission is held as a
// Grant, whose end is reported to the guards that follow it: so each beginning has one end, however the client leaves.
// If no guard follows a client, its Grant is a null pointer.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"
#include "net/sessions/session.h"
#include "runtime/loop/log_limit.h"
#include "runtime/socket/byte_stream.h"

namespace net {

// kConnect is RTMP's; clients of other protocols only publish or play.
enum class Action : uint8_t { kConnect, kPublish, kPlay };
std::string_view action_name(Action action);  // "connect", "publish", "play"

// The client, and what it wants to do.
struct Visitor {
    Action action = Action::kPlay;
    SessionType type = SessionType::kNone;  // that its session will have
    std::string id;                         // of its session
    std::string ip;
    std::string vhost;   // as configured: "__defaultVhost__"
    std::string app;     // empty if the client names none
    std::string stream;  // empty for kConnect
    std::string param;   // "?k=v&...", or empty
    std::string tc_url;
    std::string page_url;  // for HTTP: Referer
    std::string swf_url;
    std::string user_agent{};  // what the client calls its program
    // Of a client that says that it is another server: the servers that its request has passed, "a,b", by names that
    // none but their own origins know.
    std::string forward_path{};
    // Streams that it plays, one of them at a time, where the named one is a group of them. Empty: the named one.
    std::vector<base::StreamKey> streams{};
    // Of a client that must know a passphrase (SRT): a guard may say which one here. Valid while the gate is asked;
    // null: it has none.
    std::string* passphrase = nullptr;
    // The client may have been admitted to this play before, and asks again because it cannot be told apart.
    bool may_be_known = false;

    base::StreamKey key() const { return {vhost, app, stream}; }
    std::vector<base::StreamKey> played() const { return streams.empty() ? std::vector{key()} : streams; }
};

// An access check of the gate. Must not be destroyed while it is in a gate.
class Guard {
  public:
    // An error refuses: its text goes to the client, its reason (base::CloseReason) to machines. May yield where
    // may_yield() returns true; vhost is valid during the call. kCancelled: the client's coroutine was cancelled
    // meanwhile.
    virtual base::Result<void> admit(const Visitor& visitor, const config::Vhost& vhost) = 0;
    virtual bool may_yield(Action, const config::Vhost&) const { return false; }
    // The same for Gate::check(), which leaves out guards that may yield: it begins nothing for a client that was not
    // admitted by all of them. Must not yield.
    virtual base::Result<void> check(const Visitor& visitor, const config::Vhost& vhost) {
        return admit(visitor, vhost);
    }
    // Whether left() shall be called at the end of what it admits.
    virtual bool follows(Action, const config::Vhost&) const { return false; }
    // Whether parts of a play (segments of HLS) require that the client was admitted to the play.
    virtual bool guards_parts(const config::Vhost&) const { return false; }
    // The end of a client that every guard admitted, and that this guard follows. Must not yield.
    virtual void left(const Visitor&, const Traffic&) {}

  protected:
    ~Guard() = default;
};

class Gate;

// The admission of a client. Its destruction is the client's end.
class Grant {
  public:
    Grant() = default;
    Grant(Grant&& other) noexcept = default;
    Grant& operator=(Grant&& other) noexcept;
    ~Grant() { end({}); }
    // traffic: of the whole session, if known.
    void end(const Traffic& traffic);
    // That admission ends right after this one.
    void hold(Grant other);
    // Whether a guard will be notified of its end.
    explicit operator bool() const { return kept_ != nullptr; }

  private:
    friend class Gate;
    struct Kept {
        const Gate* gate;
        Visitor visitor;
        std::vector<Guard*> followers;
        std::unique_ptr<Kept> held{};
    };
    explicit Grant(std::unique_ptr<Kept> kept) : kept_(std::move(kept)) {}
    std::unique_ptr<Kept> kept_;
};

// Must outlive every Grant, and every guard that uses it.
class Gate {
  public:
    // Guards are asked in the order of these calls.
    void add(Guard& guard);
    void remove(Guard& guard);

    // Asks all guards. Yields where may_yield() returns true: re-check state after it. The error's text is for the
    // client. client: its connection; when it ends while a guard is asked, the coroutine is cancelled, and the error's
    // reason is kPeerClosed. Null: the connection is not watched.
    base::Result<Grant> admit(Visitor visitor, const config::Vhost& vhost, runtime::ByteStream* client = nullptr);
    bool may_yield(Action action, const config::Vhost& vhost) const;

    // The same for a request that begins nothing: asks only the guards that never yield. For HEAD, and for HLS without
    // contexts.
    base::Result<void> check(const Visitor& visitor, const config::Vhost& vhost);
    bool guards_parts(const config::Vhost& vhost) const;

    // For counters.
    uint64_t refused_total() const { return refused_total_; }

  private:
    friend class Grant;
    base::Result<Grant> ask(Visitor visitor, const config::Vhost& vhost);
    bool has(const Guard* guard) const;
    void record_refusal(const Visitor& visitor, const base::Error& error);

    std::vector<Guard*> guards_;
    uint64_t refused_total_ = 0;
    runtime::LogLimit refusal_log_;
};

}  // namespace net
