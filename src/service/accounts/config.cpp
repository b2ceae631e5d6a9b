#include "service/accounts/config.h"

#include <fmt/format.h>

#include "config/row_builder.h"
#include "net/sessions/session_line.h"

namespace service::accounts {
namespace {

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope access{"access_log", [](const auto& root) -> decltype(auto) {
                           return (root.snapshot->template get<ServerConfig>().access_log);
                       }};
    using A = AccessLogConfig;
    rows.push_back(row(access, "enabled", &A::enabled, none(), kLive,
                       "A line for each session that ends, of every protocol, see doc/operations.md."));
    rows.push_back(
        row(access, "path", &A::path, none(), kLive,
            "The file. It is opened again when it was renamed or removed, so that it is rotated as the log."));
    rows.push_back(row(access, "format", &A::format, one_of({"json", "clf"}), kLive,
                       "json: an object per line, which the API can read again; clf: as web servers write it."));
    rows.push_back(row(access, "fields", &A::fields, none(), kLive, "The fields of json; without a value all.",
                       "time ip token stream reason"));
    const Scope audit{"audit_log", [](const auto& root) -> decltype(auto) {
                          return (root.snapshot->template get<ServerConfig>().audit_log);
                      }};
    using B = AuditLogConfig;
    rows.push_back(row(audit, "enabled", &B::enabled, none(), kLive,
                       "A line for each change by the API, by a signal and by a reload: who asked, what, and the "
                       "result."));
    rows.push_back(row(audit, "path", &B::path, none(), kLive, "The file, as that of access_log."));
    const Scope usage{"usage", [](const auto& root) -> decltype(auto) {
                          return (root.snapshot->template get<ServerConfig>().usage);
                      }};
    using U = UsageConfig;
    rows.push_back(row(usage, "enabled", &U::enabled, none(), kRestart,
                       "Counts traffic and viewers by day, stream and token, for /api/v1/usage."));
    rows.push_back(row(usage, "path", &U::path, none(), kRestart, "The file that keeps them over a restart."));
    rows.push_back(row(usage, "days", &U::days, count(1, 3660), kLive, "How many days are kept, today included."));
    rows.push_back(row(usage, "rows", &U::rows, count(10, 1'000'000), kLive,
                       "Maximum number of rows, of some 300 bytes each, 1.4 kB where there are many viewers; further "
                       "streams and tokens of a day are counted together."));
}

void check(config::Checks& checks) {
    const ServerConfig& own = checks.snapshot().get<ServerConfig>();
    for (const std::string& name : own.access_log.fields)
        if (!net::find_session_field(name))
            checks.error("access_log/fields", fmt::format("fields: access_log has no field {}", name));
    if (own.access_log.enabled && own.audit_log.enabled && own.access_log.path == own.audit_log.path)
        checks.error("audit_log/path", "path: audit_log and access_log need different files");
}

}  // namespace

config::Section section() {
    return {.service = "accounts",
            .add_rows = add_rows,
            .blocks = {{.path = "access_log", .doc = "A line for each session that ends."},
                       {.path = "audit_log", .doc = "A line for each change that somebody asked for."},
                       {.path = "usage", .doc = "Traffic and viewers by day, stream and token."}},
            .check = check};
}

}  // namespace service::accounts
