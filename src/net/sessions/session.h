#pragma once
// Session and SessionTable: every client of the server, whatever its protocol, under the one id that its log lines, the
// API and the hooks show. A service derives its connection or viewer from Session; the table does not own sessions. It
// adds the sessions' bytes to the accounts (account.h) on request, and once a period for the rates.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/close_reason.h"
#include "base/ip.h"
#include "base/ref.h"
#include "base/result.h"
#include "net/admission/address_quota.h"
#include "net/admission/admission.h"
#include "net/admission/input_memory.h"
#include "net/sessions/account.h"
#include "net/sessions/closed_sessions.h"
#include "net/sessions/session_figures.h"
#include "net/sessions/session_observer.h"
#include "net/sessions/session_type.h"
#include "net/sessions/session_view.h"
#include "net/sessions/shared_text.h"
#include "net/sessions/unserved.h"

namespace net {

class SessionTable;

class Session : public InputHolder {
  public:
    // id: unique in this server. ip: an address as text.
    Session(SessionTable& table, std::string_view id, std::string_view ip);
    // Continues another session of the same client, which has left: it is not counted again.
    struct Past {
        int64_t started_ms = 0;
        Traffic traffic{};
        int64_t since_ms = 0;  // monotonic; 0: it begins now
    };
    Session(SessionTable& table, std::string_view id, std::string_view ip, const Past& past);
    virtual ~Session();
    Session(const Session&) = delete;

    const std::string& id() const { return id_; }
    std::string ip() const { return ip_.text(); }
    int64_t started_ms() const { return started_ms_; }  // wall clock
    int64_t alive_ms() const;                           // by the monotonic clock
    // What the client calls its program: User-Agent, flashVer. A peer's text.
    void set_agent(std::string_view text) { agent_ = SharedText::of(text); }
    const base::Ref<SharedText>& agent() const { return agent_; }
    SessionType type() const { return type_; }
    void set_type(SessionType type);

    // Its bytes count for that stream from now on. Call again for another stream.
    void enter_stream(const base::StreamKey& stream, bool publishing);
    // It no longer publishes or plays.
    void leave_stream();
    // Null: it is in no stream.
    const StreamAccount* stream_account() const { return account_.get(); }
    // Over 15 to 30 s.
    Rates rates() const;
    // For another session that continues this one, which leaves soon.
    Past past();

    // What it would be as a closed session, if it ended now.
    ClosedSession record() const;
    // What its protocol has measured so far.
    virtual SessionFigures figures() const { return {}; }
    // It is a connection of this server to another one, and no client.
    virtual bool is_outgoing() const { return false; }
    // A connection with the server's other process, during an upgrade: no list, sum or account has it.
    bool is_with_other_process() const { return with_other_process_; }
    // All that lists show of it.
    SessionView view() const;
    virtual ClientDetails details() const { return {}; }
    // Empty: not WebRTC, or not connected yet.
    virtual std::optional<RtcQuality> rtc_quality() const { return {}; }
    // Empty: not SRT.
    virtual std::optional<SrtQuality> srt_quality() const { return {}; }
    // "vhost/app/stream" as far as known; for lists and logs.
    virtual std::string stream_text() const = 0;
    virtual Traffic traffic() const = 0;
    // Ends the session soon, on an operator's request; `why` goes into its last log line.
    virtual void kick(std::string_view why) = 0;
    // The same for another reason.
    void close(std::string_view why, base::CloseReason reason) {
        set_close_reason(reason);
        kick(why);
    }
    // A player that gets nothing: see UnservedSessions.
    virtual bool is_unserved() const { return false; }
    // It makes room for others: it does not count as a connection any longer, and ends soon.
    void give_way(std::string_view why) {
        not_a_connection();
        close(why, base::CloseReason::kRefusedLimit);
    }
    void drop_unfinished_input(std::string_view why) override { close(why, base::CloseReason::kFlood); }

  protected:
    // The reason for its coming end; the first one counts.
    void set_close_reason(base::CloseReason reason) {
        if (reason_ == base::CloseReason::kUnknown) reason_ = reason;
    }
    base::CloseReason close_reason() const { return reason_; }
    // The one log line at a session's end: client, type, duration, bytes and reason; also adds it to the closed
    // sessions. reason: used when none was set before.
    void log_end(std::string_view why, base::CloseReason reason);
    // figures() as they are now are those of its end: what measures them is destroyed before log_end().
    void keep_figures();
    // For a session that consists of other sessions' connections, or has none: it counts for no limit. See Admission.
    void not_a_connection();
    // Before it is of a type. See is_with_other_process().
    void connects_processes() {
        not_a_connection();
        with_other_process_ = true;
    }
    // It counts again; the caller has checked that this is allowed.
    void becomes_connection();
    // To be called when unfinished_input() may have grown by some 64 kB. kLimit: the session is to end.
    base::Result<void> count_input();
    // To be called when is_unserved() may have become true. It may be closed in it, as by kick().
    void record_unserved();

  private:
    friend class SessionTable;
    void forget_stream();

    SessionTable& table_;
    const std::string id_;
    base::IpAddress ip_;
    int64_t started_ms_;
    const int64_t since_ms_;  // monotonic
    base::Ref<SharedText> agent_;
    std::unique_ptr<SessionFigures> kept_figures_;
    uint32_t index_;  // index in the table
    SessionType type_ = SessionType::kNone;
    base::CloseReason reason_ = base::CloseReason::kUnknown;
    bool is_connection_ = true;
    bool counts_input_ = false;     // in the table's InputMemory
    bool may_be_unserved_ = false;  // it is, or was, in the table's UnservedSessions
    bool with_other_process_ = false;
    bool plays_ = false;  // it counts as a player of its stream
    base::Ref<StreamAccount> account_;
};

class SessionTable {
  public:
    static constexpr int64_t kPeriodMs = 15'000;

    SessionTable();

    size_t size() const { return sessions_.size(); }
    uint64_t clients_total() const { return clients_total_; }  // that have published or played
    // Sessions of that type that are in a stream now.
    size_t in_streams(SessionType type) const { return in_streams_[type.index()]; }
    // Null: no session has that id.
    Session* find(std::string_view id) const;
    // The order changes: a session that ends is replaced by another at its index. index < size().
    Session& at(size_t index) const { return *sessions_[index]; }
    // Limits connections; a session counts as one unless it called not_a_connection().
    Admission& admission() { return admission_; }
    const Admission& admission() const { return admission_; }
    UnservedSessions& unserved() { return unserved_; }
    const UnservedSessions& unserved() const { return unserved_; }
    // Players, with or without a session, that wait for their stream to be published before they are answered.
    AddressQuota& waiting() { return waiting_; }
    const AddressQuota& waiting() const { return waiting_; }
    // Requests that wait for their answer without a coroutine (net/http/deferred.h).
    AddressQuota& deferred() { return deferred_; }
    const AddressQuota& deferred() const { return deferred_; }
    InputMemory& input_memory() { return input_memory_; }
    const InputMemory& input_memory() const { return input_memory_; }
    // Logs a line, at most one a second; the next one reports how many were left out.
    // what: "RTMP connection".
    void log_refusal(std::string_view what, std::string_view ip, const base::Error& error);
    void for_each(const std::function<void(Session&)>& visit) const;

    // Bytes on the wire of all present and past sessions, as far as counted.
    const Traffic& traffic() const { return traffic_; }
    Accounts& accounts() { return accounts_; }
    const Accounts& accounts() const { return accounts_; }
    // Brings the accounts and traffic() up to date, unless that was done within the last not_older_than_ms. Yields to
    // others after each fraction of a millisecond.
    base::Result<void> count(int64_t not_older_than_ms = 0);
    // To be called once per kPeriodMs, for the rates. Yields as count() does.
    base::Result<void> begin_period();

    const ClosedSessions& closed() const { return closed_; }
    // For a client that never became a session of its type, such as a play that was refused over HTTP.
    void add_closed(ClosedSession closed);
    // Null: none. It must outlive the table, or be taken away.
    void set_observer(SessionObserver* observer);

  private:
    friend class Session;
    std::vector<Session*> sessions_;
    std::unordered_map<std::string_view, Session*> by_id_;  // the sessions' own ids
    ClosedSessions closed_;
    SessionObserver* observer_ = nullptr;
    // The known bytes of a session, as the low halves of its counters. More than 4 GB within a period would be
    // undercounted.
    struct Meter {
        uint32_t counted_received, counted_sent;  // counted into the accounts
        uint32_t mark_received, mark_sent;        // when the period began
        uint32_t before_received, before_sent;    // within the previous period
        uint32_t period;
        uint32_t counted_ms;  // low half of the monotonic time of the last count; for the observer
        bool is_new;          // it has entered its stream since
    };
    void enter(Session& session, const Traffic& past);
    void leave(Session& session);
    void count(Session& session);
    void notify_traffic(const Session& session, Meter& meter, const Traffic& more);
    void begin_period(Session& session);
    Rates rates(const Session& session) const;

    std::vector<Meter> meters_;  // of each session, at its index
    Accounts accounts_;
    Traffic traffic_;
    int64_t counted_ms_ = 0;
    int64_t began_ms_;  // of the period
    int64_t before_ms_ = 0;
    uint32_t period_ = 0;
    bool passing_ = false;  // while changing from one period to the next
    uint64_t clients_total_ = 0;
    std::array<size_t, SessionType::kMax> in_streams_{};
    Admission admission_;
    InputMemory input_memory_;
    UnservedSessions unserved_;
    AddressQuota waiting_{"players that wait for a stream", "address_limits.waiting_players", "max_waiting_players"};
    AddressQuota deferred_{"waiting requests", "address_limits.waiting_requests", "max_waiting_requests"};
    int64_t refusal_logged_ms_ = 0;
    uint64_t refusals_unlogged_ = 0;
};

}  // namespace net
