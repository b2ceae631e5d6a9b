#pragma once
// Session and SessionTable: every client of the server, whatever its protocol, under the one id that its log lines, the
// API and the hooks show. A service derives its connection or viewer from Session; the table holds no ownership.

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace net {

// Names as the API shows them: rtmp-play flv-play hls-play fmle-publish flash-publish ...; kNone before it is known.
enum class SessionType : uint8_t {
    kNone,
    kRtmp,  // neither publishes nor plays yet
    kRtmpPlay,
    kFmlePublish,
    kFlashPublish,
    kHaivisionPublish,
    kFlvPlay,
    kHlsPlay,
    kHttp
};
std::string_view session_type_name(SessionType type);

struct Traffic {
    uint64_t received_bytes = 0;
    uint64_t sent_bytes = 0;
};

class SessionTable;

class Session {
  public:
    Session(SessionTable& table, std::string_view id, std::string ip);  // id: of 8 characters at most
    // Goes on with what another session of the same client was, which has left: it is not counted anew.
    struct Past {
        int64_t started_ms = 0;
        Traffic traffic{};
    };
    Session(SessionTable& table, std::string_view id, std::string ip, const Past& past);
    virtual ~Session();
    Session(const Session&) = delete;

    std::string id() const { return {id_.data(), strnlen(id_.data(), id_.size())}; }
    const std::string& ip() const { return ip_; }
    int64_t started_ms() const { return started_ms_; }  // wall clock
    int64_t alive_ms() const;
    SessionType type() const { return type_; }
    void set_type(SessionType type) { type_ = type; }

    // "vhost/app/stream" as far as it is known; for lists and logs.
    virtual std::string stream_url() const = 0;
    virtual Traffic traffic() const = 0;
    // Ends the session soon, from outside; the reason goes into its last log line.
    virtual void kick(std::string_view reason) = 0;

  protected:
    // The one line at a session's end: who, what, how long, bytes and why.
    void log_end(std::string_view why);

  private:
    SessionTable& table_;
    std::array<char, 8> id_{};  // of context_id's length: a third of a std::string
    std::string ip_;
    int64_t started_ms_;
    uint32_t place_;  // in the table
    SessionType type_ = SessionType::kNone;
};

class SessionTable {
  public:
    size_t size() const { return sessions_.size(); }
    uint64_t accepted_total() const { return accepted_total_; }
    uint64_t refused_total() const { return refused_total_; }
    // Looks at one after the other: for what a person asks.
    Session* find(std::string_view id) const;
    // max_connections: kLimit when it is reached (0: no limit). Asked by a listener before it makes a session.
    base::Result<void> admit(size_t max_connections);
    void for_each(const std::function<void(Session&)>& visit) const;

  private:
    friend class Session;
    std::vector<Session*> sessions_;
    uint64_t accepted_total_ = 0;
    uint64_t refused_total_ = 0;
};

}  // namespace net
