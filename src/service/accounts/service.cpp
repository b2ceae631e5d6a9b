#include "service/accounts/service.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/redaction.h"
#include "net/access/signed_urls.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/threads/workers.h"
#include "service/accounts/line_search.h"

namespace service::accounts {

using base::Code;
using base::Result;
using net::SessionField;

namespace {

// Of the client as far as it can be told from others: behind one address those with the same program are one.
uint64_t hash_of_viewer(const net::Session& session, const std::string& token) {
    std::string text = session.ip() + "\n" + token + "\n";
    if (session.agent()) text += session.agent()->text();
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    CHECK(EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr) == 1);
    uint64_t hash = 0;
    for (size_t i = 0; i < 8; ++i) hash = hash << 8 | digest[i];
    return hash;
}

int number_of(const tm& day) { return (day.tm_year + 1900) * 10'000 + (day.tm_mon + 1) * 100 + day.tm_mday; }

struct Day {
    int number = 0;
    int64_t from_ms = 0, until_ms = 0;
};

Day day_of(int64_t wall_ms, bool utc) {
    const time_t now = wall_ms / 1000;
    tm at{};
    utc ? gmtime_r(&now, &at) : localtime_r(&now, &at);
    Day day{.number = number_of(at)};
    at.tm_hour = at.tm_min = at.tm_sec = 0;
    at.tm_isdst = -1;
    const auto ms_of = [utc](tm& time) { return int64_t{utc ? timegm(&time) : mktime(&time)} * 1000; };
    tm next = at;
    ++next.tm_mday;
    day.from_ms = ms_of(at);
    day.until_ms = ms_of(next);
    return day;
}

// The number of the first of so many days, today's included.
int first_day(int64_t wall_ms, bool utc, int days) {
    constexpr int64_t kDayMs = 86'400'000;
    const Day today = day_of(wall_ms, utc);
    // Noon: a day may have 23 or 25 hours.
    return day_of(today.from_ms + kDayMs / 2 - (days - 1) * kDayMs, utc).number;
}

std::string iso_time(int64_t wall_ms) {
    const time_t seconds = wall_ms / 1000;
    tm at{};
    gmtime_r(&seconds, &at);
    char text[32];
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &at);
    return fmt::format("{}.{:03}Z", text, wall_ms % 1000);
}

}  // namespace

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions)
    : snapshot_(std::move(snapshot)),
      sessions_(sessions),
      counts_usage_(own().usage.enabled),
      ledger_(static_cast<size_t>(own().usage.rows)),
      usage_file_(own().usage.path, ledger_) {}

Result<void> Service::start() {
    if (counts_usage_) {
        // Before the file is read: its older days are left out.
        ledger_.forget_before(first_day(base::wall_ms(), snapshot_->global.utc_time, own().usage.days));
        if (auto opened = usage_file_.open(); !opened) {
            if (opened.error().code() == Code::kCancelled) return opened;
            base::log::error("usage: {}; it is counted in memory only", opened.error().text());
        }
        usage_file_.start();
    }
    apply();
    return {};
}

void Service::apply() {
    const ServerConfig& config = own();
    access_log_.set_path(config.access_log.enabled ? config.access_log.path : "");
    audit_log_.set_path(config.audit_log.enabled ? config.audit_log.path : "");
    fields_.clear();
    for (const std::string& name : config.access_log.fields)
        if (const auto field = net::find_session_field(name)) fields_.push_back(*field);
    if (fields_.empty()) fields_ = net::all_session_fields();
    ledger_.set_max_rows(static_cast<size_t>(config.usage.rows));
    const bool is_told = config.access_log.enabled || counts_usage_;
    sessions_.set_observer(is_told ? this : nullptr);
}

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    day_until_ms_ = 0;
    apply();
}

void Service::stop() {
    sessions_.set_observer(nullptr);
    access_log_.stop();
    audit_log_.stop();
    if (counts_usage_) usage_file_.stop();
}

// ---- Sessions

std::string Service::token_of(const base::StreamKey& stream, bool publishes, std::string_view param) const {
    const config::Vhost* vhost = snapshot_->vhost(stream.vhost);
    return vhost ? net::signed_name(vhost->signed_urls, publishes, param) : std::string();
}

void Service::on_session_end(const net::ClosedSession& closed) {
    if (!access_log_.is_on()) return;
    access_log_.add(own().access_log.format == "clf" ? net::session_clf_line(closed)
                                                     : net::session_json_line(closed, fields_));
}

int Service::today() {
    const int64_t now_ms = base::wall_ms();
    if (now_ms < day_until_ms_ && now_ms >= day_from_ms_) return day_;
    const Day day = day_of(now_ms, snapshot_->global.utc_time);
    day_ = day.number;
    day_from_ms_ = day.from_ms;
    day_until_ms_ = day.until_ms;
    ledger_.forget_before(first_day(now_ms, snapshot_->global.utc_time, own().usage.days));
    return day_;
}

net::Usage& Service::row_of(const base::StreamKey& stream, const net::StreamAccount* account, std::string token) {
    const int day = today();
    const bool is_known = (account && account->had_publisher()) || ledger_.has_stream(day, stream);
    return is_known ? ledger_.change({day, stream, std::move(token)}) : ledger_.change_other(day);
}

void Service::on_session_traffic(const net::Session& session, const net::Traffic& more, int64_t ms, bool is_first) {
    if (!counts_usage_ || !net::is_client(session.type())) return;
    const net::StreamAccount& account = *session.stream_account();
    const bool publishes = net::publishes(session.type());
    const std::string token = token_of(account.key(), publishes, session.details().params);
    net::Usage& usage = row_of(account.key(), &account, token);
    const auto lasted_ms = static_cast<uint64_t>(ms);
    if (publishes) {
        usage.received += more.received_bytes;
        usage.published_ms += lasted_ms;
        usage.sessions += is_first;
    } else if (session.is_outgoing()) {
        usage.forwarded += more.sent_bytes;
    } else {
        usage.sent += more.sent_bytes;
        usage.watched_ms += lasted_ms;
        usage.sessions += is_first;
        usage.peak = std::max(usage.peak, account.take_peak());
        usage.viewers.add(hash_of_viewer(session, token));
    }
}

void Service::on_stream_traffic(const base::StreamKey& stream, const net::Traffic& more) {
    if (counts_usage_) row_of(stream, sessions_.accounts().find(stream), "").sent += more.sent_bytes;
}

// ---- Changes

void Service::audit(const net::AuditEvent& event) {
    if (!audit_log_.is_on()) return;
    const base::OrderedJson line = {{"time", iso_time(base::wall_ms())},
                                    {"action", event.action},
                                    {"ip", event.ip},
                                    {"user", event.user},
                                    {"what", event.what},
                                    {"about", event.about},
                                    {"result", event.result}};
    audit_log_.add(base::redact(base::to_text(line)));
}

// ---- What was

Result<net::PastSessions> Service::past_sessions(const net::SessionQuery& query) {
    constexpr size_t kLinesPerWanted = 4, kMaxLines = 20'000;
    const ServerConfig& config = own();
    if (!config.access_log.enabled || config.access_log.format != "json")
        return base::fail(Code::kConfig, "there is no access_log in JSON");
    // A reload while this waits replaces the configuration.
    const std::string path = config.access_log.path;
    const auto pass = TRY(searches_.enter(runtime::Deadline::in_ms(10'000)));
    auto search = std::make_shared<LineSearch>();
    search->paths = {path, path + ".1"};
    search->from_ms = query.from_ms;
    // A session may have ended long after it.
    search->to_ms = std::numeric_limits<int64_t>::max();
    for (const std::string& text : {query.stream.substr(query.stream.rfind('/') + 1), query.client})
        if (!text.empty() && !text.starts_with("vid-")) search->texts.push_back(text);
    search->max_lines = std::min(kMaxLines, kLinesPerWanted * query.most);
    auto found = std::make_shared<Result<FoundLines>>();
    TRY(runtime::offload([search, found] { *found = find_lines(*search); }, runtime::Deadline::never()));
    const FoundLines lines = TRY(std::move(*found));
    net::PastSessions past;
    past.complete = lines.complete;
    runtime::CpuSlice slice(8);
    for (const std::string& line : lines.lines) {
        TRY(slice.step());
        auto session = net::parse_session_line(line);
        if (session && query.matches(*session)) past.sessions.push_back(*std::move(session));
    }
    return past;
}

void Service::write_metrics(prometheus::Text& text) const {
    using prometheus::Type;
    const auto each = [&](std::string_view name, Type type, std::string_view help, auto value) {
        text.family(name, type, help);
        for (const auto& [file, label] : {std::pair(&access_log_, "access_log"), std::pair(&audit_log_, "audit_log")})
            text.sample({{"file", label}}, static_cast<double>(value(*file)));
    };
    each("srs_records_written_total", Type::kCounter, "Lines written to access_log and audit_log.",
         [](const LineFile& file) { return file.counters().written; });
    each("srs_records_dropped_total", Type::kCounter,
         "Lines of access_log and audit_log that were dropped because the disk was full or too slow.",
         [](const LineFile& file) { return file.counters().dropped; });
    each("srs_records_waiting_bytes", Type::kGauge, "Bytes of such lines that are not written yet.",
         [](const LineFile& file) { return file.waiting_bytes(); });
    text.single("srs_usage_rows", Type::kGauge, "Rows of the usage: a day, a stream and a token each.",
                static_cast<double>(ledger_.size()));
    text.single("srs_usage_overflows_total", Type::kCounter,
                "Changes of the usage that were counted for other streams together, as it has usage.rows rows.",
                static_cast<double>(ledger_.overflows()));
}

}  // namespace service::accounts
