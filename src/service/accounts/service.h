#pragma once
// Accounts: what operators have of the past: a line for each session that ended (access_log), for each change of the
// server that somebody asked for (audit_log), and what was used by day, stream and token (usage). It is told of both by
// the session table and by the server's operations; nothing of it is on the path of media. Where all three are off
// nobody is told. See doc/operations.md.

#include <cstdint>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "net/operations.h"
#include "net/sessions/session.h"
#include "net/sessions/session_line.h"
#include "net/sessions/session_query.h"
#include "net/sessions/usage_ledger.h"
#include "protocol/prometheus/text.h"
#include "runtime/loop/permits.h"
#include "service/accounts/config.h"
#include "service/accounts/line_file.h"
#include "service/accounts/usage_file.h"

namespace service::accounts {

class Service final : private net::SessionObserver {
  public:
    // The table must outlive it until it is stopped.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions);

    // Reads the usage of earlier runs. Yields.
    base::Result<void> start();
    void stop_accepting() {}
    bool idle() const { return true; }
    void stop();
    void reload(const config::SnapshotPtr& next);

    // A change of the server. Does not yield.
    void audit(const net::AuditEvent& event);
    // Of access_log, as far as it can be read: newest first. kConfig: it is off, or no JSON. Yields.
    base::Result<net::PastSessions> past_sessions(const net::SessionQuery& query);
    const net::UsageLedger& ledger() const { return ledger_; }
    void write_metrics(prometheus::Text& text) const;

    const LineFile& access_log() const { return access_log_; }

  private:
    std::string token_of(const base::StreamKey& stream, bool publishes, std::string_view param) const override;
    void on_session_end(const net::ClosedSession& closed) override;
    void on_session_traffic(const net::Session& session, const net::Traffic& more, int64_t ms, bool is_first) override;
    void on_stream_traffic(const base::StreamKey& stream, const net::Traffic& more) override;

    const ServerConfig& own() const { return snapshot_->get<ServerConfig>(); }
    void apply();
    int today();
    // The row to add to, of today. Anybody may ask for streams of any names: those that nobody publishes have no rows.
    net::Usage& row_of(const base::StreamKey& stream, const net::StreamAccount* account, std::string token);

    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    LineFile access_log_{"access_log"};
    LineFile audit_log_{"audit_log"};
    std::vector<net::SessionField> fields_;
    const bool counts_usage_;
    net::UsageLedger ledger_;
    UsageFile usage_file_;
    int day_ = 0;               // 20261129
    int64_t day_until_ms_ = 0;  // wall clock; 0: not known yet
    int64_t day_from_ms_ = 0;
    runtime::Permits searches_{1, "a search of access_log"};
};

}  // namespace service::accounts
