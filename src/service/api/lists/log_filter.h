#pragma once
// LogFilter: which lines of the log are about a stream, or about a client: the lines of its sessions, of those that are
// there and of those that have ended as far as memory has them (net::ClosedSessions), and lines that name it. Made for
// one answer; it takes time in proportion to the closed sessions and the lines.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/log_ring.h"
#include "net/sessions/session.h"
#include "net/sessions/session_query.h"

namespace service::api {

// Whether the name is in the text, and not as a part of a longer one: "live/cam" is in "v/live/cam, closed" and in
// "/live/cam.m3u8", not in "live/cam2" or "live/cam/2".
bool has_name(std::string_view text, std::string_view name);

class LogFilter {
  public:
    // stream: as SessionQuery has it; client: id or address of a session; empty: any. The table must outlive this.
    LogFilter(const net::SessionTable& sessions, std::string_view stream, std::string_view client);

    bool admits_all() const { return !stream_ && !client_; }
    // Does not yield.
    bool admits(const base::log::Ring::Line& line);

  private:
    struct Subject {
        net::SessionQuery query{};
        std::string name{};                              // by which lines name it
        std::map<std::string, bool, std::less<>> ids{};  // of sessions: whether it is one of its
    };
    void find_ended(Subject& subject) const;
    bool is_about(Subject& subject, const base::log::Ring::Line& line) const;
    bool has_session(const Subject& subject, std::string_view id) const;

    const net::SessionTable& sessions_;
    std::optional<Subject> stream_;
    std::optional<Subject> client_;
};

}  // namespace service::api
