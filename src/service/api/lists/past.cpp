#include "service/api/lists/past.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/clock.h"
#include "net/access/auth.h"
#include "net/sessions/session_line.h"
#include "net/sessions/session_query.h"
#include "net/sessions/usage_ledger.h"
#include "service/api/lists/listing.h"
#include "service/api/lists/times.h"

namespace service::api {

using base::Result;

namespace {

constexpr std::string_view kTimes =
    "a time: s or ms since 1970, as 2026-11-29T21:03 (with Z at its end UTC), or before now, as -12h";
// More are not looked for in the files.
constexpr size_t kMaxFromFiles = 20'000;
constexpr size_t kMaxGroups = 100'000;
constexpr int64_t kUsageFreshMs = 250;  // age of the accounts

Json session_record(const net::ClosedSession& session, bool shows_token) {
    Json record = Json::parse(net::session_json_line(session, net::all_session_fields()), nullptr, false);
    if (!shows_token) record["token"] = "";
    return record;
}

using IsWanted = std::function<bool(const net::ClosedSession&)>;

struct Present {
    std::vector<net::ClosedSession> sessions{};  // the newest first
    std::unordered_set<std::string> ids{};       // of these: one that ends meanwhile is not listed again
};

Result<Present> present_sessions(const net::SessionTable& table, const IsWanted& is_wanted) {
    Present present;
    runtime::CpuSlice slice(16);
    for (size_t i = table.size(); i > 0; --i) {
        TRY(slice.step());
        if (i > table.size() || !net::is_client(table.at(i - 1).type())) continue;
        if (table.at(i - 1).is_with_other_process()) continue;
        net::ClosedSession session = table.at(i - 1).record();
        if (!is_wanted(session)) continue;
        present.ids.insert(session.id);
        present.sessions.push_back(std::move(session));
    }
    std::ranges::sort(present.sessions, std::greater(), &net::ClosedSession::started_ms);
    return present;
}

struct Ended {
    std::vector<net::ClosedSession> sessions{};         // that are wanted, the newest first
    std::set<std::pair<std::string, int64_t>> known{};  // all: id and end
    int64_t oldest_ms = std::numeric_limits<int64_t>::max();

    // Whether a session of the file is one of them. A file without ids has at its end those of this process.
    bool has(const net::ClosedSession& session) const {
        if (session.id.empty()) return session.ended_ms >= oldest_ms;
        return known.contains({session.id, session.ended_ms});
    }
};

// As far as memory has them.
Result<Ended> ended_sessions(const net::ClosedSessions& closed, const IsWanted& is_wanted) {
    Ended ended;
    runtime::CpuSlice slice(16);
    // Of those that end while this yields none is taken twice.
    const uint64_t before = closed.total();
    for (size_t i = 0; i < closed.size(); ++i) {
        const size_t index = i + static_cast<size_t>(closed.total() - before);
        if (index >= closed.size()) break;
        const net::ClosedSession& session = closed.newest(index);
        ended.oldest_ms = session.ended_ms;
        ended.known.emplace(session.id, session.ended_ms);
        if (is_wanted(session)) ended.sessions.push_back(session);
        TRY(slice.step());
    }
    return ended;
}

// A session of this process or of its files, or one of the process that this one has replaced, as that one says.
struct SessionRow {
    net::ClosedSession session{};
    Json entry{};  // null: it is the session
};

// What the replaced process has, in the order of the list: those that have not ended, then the others.
class EarlierSessions {
  public:
    explicit EarlierSessions(Earlier::Entries all) : all_(std::move(all)) {
        for (const Json& entry : all_.entries) known_.emplace(text(entry, "id"), number(entry, "ended_ms"));
    }
    // Whether it is one of them, so that it is not listed from a file, too.
    bool has(const net::ClosedSession& session) const { return known_.contains({session.id, session.ended_ms}); }
    // Adds those that come before a session that began, or ended, at that time.
    Result<void> add(List<SessionRow>& list, const char* field, int64_t until_ms) {
        for (; next_ < all_.entries.size(); ++next_) {
            Json& entry = all_.entries[next_];
            const bool has_ended = number(entry, "ended_ms") > 0;
            if (has_ended != (std::string_view(field) == "ended_ms")) return {};
            if (number(entry, field) < until_ms) return {};
            TRY(list.add({{}, std::move(entry)}));
        }
        return {};
    }
    size_t left_out() const { return all_.total - std::min(all_.total, all_.entries.size()); }

  private:
    static int64_t number(const Json& entry, const char* name) {
        const auto found = entry.find(name);
        return found != entry.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
    }
    static std::string text(const Json& entry, const char* name) {
        const auto found = entry.find(name);
        return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
    }

    Earlier::Entries all_;
    std::set<std::pair<std::string, int64_t>> known_;
    size_t next_ = 0;
};

constexpr int64_t kTheRest = std::numeric_limits<int64_t>::min();

// ---- Usage

enum Group : unsigned { kDay = 1, kVhost = 2, kApp = 4, kStream = 8, kToken = 16 };
constexpr std::pair<std::string_view, unsigned> kGroups[] = {
    {"day", kDay}, {"vhost", kVhost}, {"app", kVhost | kApp}, {"stream", kVhost | kApp | kStream}, {"token", kToken}};

// Nothing: a word is none of these.
std::optional<unsigned> groups_of(std::string_view by) {
    unsigned groups = 0;
    while (!by.empty()) {
        const std::string_view word = by.substr(0, by.find(','));
        by.remove_prefix(std::min(by.size(), word.size() + 1));
        const auto found = std::ranges::find(kGroups, word, &std::pair<std::string_view, unsigned>::first);
        if (found == std::end(kGroups)) return std::nullopt;
        groups |= found->second;
    }
    return groups;
}

net::UsageKey key_of_group(const net::UsageKey& key, unsigned groups) {
    net::UsageKey group;
    if (groups & kDay) group.day = key.day;
    if (groups & kVhost) group.stream.vhost = key.stream.vhost;
    if (groups & kApp) group.stream.app = key.stream.app;
    // What the ledger had no room for is no part of any app.
    if (groups & kStream) group.stream.name = key.stream.name;
    if (groups & kToken) group.token = key.token;
    return group;
}

struct UsageRow {
    net::UsageKey key;
    net::Usage usage;      // without its viewers
    uint64_t viewers = 0;  // counted once: that takes about a microsecond
};

Json usage_json(const UsageRow& row, unsigned groups) {
    const auto& [key, usage, viewers] = row;
    Json out = Json::object();
    if (groups & kDay)
        out["day"] = fmt::format("{:04}-{:02}-{:02}", key.day / 10'000, key.day / 100 % 100, key.day % 100);
    if (groups & kVhost) out["vhost"] = key.stream.vhost;
    if (groups & kApp) out["app"] = key.stream.app;
    if (groups & kStream) out["stream"] = key.stream.name;
    if (groups & kToken) out["token"] = key.token;
    out["sessions"] = usage.sessions;
    out["received_bytes"] = usage.received;
    out["sent_bytes"] = usage.sent;
    out["forwarded_bytes"] = usage.forwarded;
    out["watched_s"] = usage.watched_ms / 1000;
    out["published_s"] = usage.published_ms / 1000;
    out["peak_viewers"] = usage.peak;
    out["unique_viewers"] = viewers;
    return out;
}

struct UsageFilter {
    int from = 0, to = 99'999'999;
    std::string_view vhost, app, stream, token;
    bool admits(const net::UsageKey& key) const {
        const auto is = [](std::string_view wanted, const std::string& text) {
            return wanted.empty() || wanted == text;
        };
        return key.day >= from && key.day <= to && is(vhost, key.stream.vhost) && is(app, key.stream.app) &&
               is(stream, key.stream.name) && is(token, key.token);
    }
};

constexpr Column<UsageRow> kUsageColumns[] = {
    {"sent", [](const UsageRow& a, const UsageRow& b) { return a.usage.sent < b.usage.sent; }},
    {"received", [](const UsageRow& a, const UsageRow& b) { return a.usage.received < b.usage.received; }},
    {"watched", [](const UsageRow& a, const UsageRow& b) { return a.usage.watched_ms < b.usage.watched_ms; }},
    {"peak", [](const UsageRow& a, const UsageRow& b) { return a.usage.peak < b.usage.peak; }},
    {"viewers", [](const UsageRow& a, const UsageRow& b) { return a.viewers < b.viewers; }}};

}  // namespace

std::vector<Endpoint> Past::endpoints() {
    Endpoints<Past> rows(*this);
    Endpoint& sessions = rows.get(
        "/api/v1/sessions",
        "the sessions that are there and those that have ended, the newest first: from memory, and from access_log "
        "where that is on; access_log and token only for this machine, http_api's control { allow } and those who "
        "authenticate",
        "total:int complete:bool sessions[@Session]", &Past::sessions);
    sessions.parameters = page_parameters();
    sessions.parameters.push_back(
        {.name = "from", .doc = "those alone that were there at or after " + std::string(kTimes)});
    sessions.parameters.push_back(
        {.name = "to", .doc = "those alone that were there at or before " + std::string(kTimes)});
    sessions.parameters.push_back(
        {.name = "stream", .doc = "of that stream alone: its name, app/name, vhost/app/name or id"});
    sessions.parameters.push_back({.name = "client", .doc = "of that client alone: session's id, address or token"});
    sessions.parameters.push_back(
        {.name = "action", .doc = "those alone", .choices = {"publish", "play", "pull", "forward"}});
    sessions.failures = {{400, "from or to is no time, or action is none of these"}};
    Endpoint& usage = rows.get("/api/v1/usage",
                               "what was used: traffic, time, viewers; peak_viewers of several streams is the greatest "
                               "of them, unique_viewers above 64 are an estimate",
                               "total:int overflows:int usage[day?:str vhost?:str app?:str stream?:str token?:str "
                               "sessions:int received_bytes:int sent_bytes:int forwarded_bytes:int watched_s:int "
                               "published_s:int peak_viewers:int unique_viewers:int]",
                               &Past::usage);
    usage.parameters = page_parameters();
    usage.parameters.push_back(
        {.name = "by",
         .doc = "a row for each of these: day, vhost, app, stream, token, with commas; without it day,stream"});
    usage.parameters.push_back({.name = "from", .doc = "the first day: 2026-11-29"});
    usage.parameters.push_back({.name = "to", .doc = "the last day"});
    for (const char* name : {"vhost", "app", "stream", "token"})
        usage.parameters.push_back({.name = name, .doc = "that one alone"});
    usage.parameters.push_back(sort_parameter(names_of<UsageRow>(kUsageColumns)));
    usage.failures = {{400, "from or to is no day, or by has another word"},
                      {403, "by=token and token= are for this machine, http_api's control { allow } and with auth"},
                      {404, "usage { enabled on; } is not set"}};
    return rows.take();
}

Result<void> Past::sessions(Request& request, Response& response) {
    const int64_t now_ms = base::wall_ms();
    net::SessionQuery query;
    const auto refuse = [&](std::string_view why) { return send_failure(response, context_.identity, 400, why); };
    const auto& parameters = request.message.parameters;
    for (const auto& [name, value] : {std::pair("from", &query.from_ms), std::pair("to", &query.to_ms)}) {
        const auto text = http::find_parameter(parameters, name);
        if (!text || text->empty()) continue;
        const auto time = parse_time(*text, now_ms);
        if (!time) return refuse(fmt::format("{} is {}", name, kTimes));
        *value = *time;
    }
    query.stream = request.message.parameter("stream");
    query.client = request.message.parameter("client");
    const std::string action(request.message.parameter("action"));
    if (!action.empty() && action != "publish" && action != "play" && action != "pull" && action != "forward")
        return refuse("action is publish, play, pull or forward");
    const auto is_wanted = [&](const net::ClosedSession& session) {
        return query.matches(session) && (action.empty() || net::action_of(session.type) == action);
    };
    const bool sees_records = net::evaluate_records(request, context_.snapshot->http_api).status == 0;
    query.finds_tokens = sees_records;
    const Page page = page_of(request);
    query.most = std::min(kMaxFromFiles, page.start + page.count);

    List<SessionRow> list(request, context_.identity, "sessions");
    Earlier::Entries others;
    if (earlier_.has(request))
        others = TRY(earlier_.list(request, "/api/v1/sessions", "sessions", 0, page.start + page.count));
    EarlierSessions earlier(std::move(others));
    Present present = TRY(present_sessions(context_.sessions, is_wanted));
    for (net::ClosedSession& session : present.sessions) {
        TRY(earlier.add(list, "started_ms", session.started_ms));
        TRY(list.add({std::move(session)}));
    }
    TRY(earlier.add(list, "started_ms", kTheRest));
    Ended ended = TRY(ended_sessions(context_.sessions.closed(), is_wanted));
    bool complete = query.from_ms >= ended.oldest_ms;
    std::vector<net::ClosedSession> older;
    if (sees_records && context_.offers.past_sessions && !request.is_of_other_process) {
        // The file has those of memory, too: with them enough are to be found.
        if (complete) query.most = std::min(kMaxFromFiles, query.most + ended.known.size());
        auto past = context_.offers.past_sessions(query);
        if (!past && past.error().code() == base::Code::kCancelled) return std::unexpected(std::move(past).error());
        // Without the file memory is all that there is.
        if (past || past.error().code() != base::Code::kConfig) complete = past && past->complete;
        if (past) older = std::move(past->sessions);
    }
    // Both are in order. In the file are those of memory, too, and those of another process that ends at this time.
    auto mine = ended.sessions.begin();
    auto theirs = older.begin();
    while (mine != ended.sessions.end() || theirs != older.end()) {
        const bool is_mine =
            theirs == older.end() || (mine != ended.sessions.end() && mine->ended_ms >= theirs->ended_ms);
        net::ClosedSession& next = is_mine ? *mine++ : *theirs++;
        const bool is_new = !present.ids.contains(next.id) && (is_mine || (!ended.has(next) && !earlier.has(next)));
        TRY(earlier.add(list, "ended_ms", next.ended_ms));
        TRY(is_new && is_wanted(next) ? list.add({std::move(next)}) : list.skip());
    }
    TRY(earlier.add(list, "ended_ms", kTheRest));
    list.add_others({}, earlier.left_out());
    return list.send(response,
                     [&](const SessionRow& row) {
                         return row.entry.is_null() ? session_record(row.session, sees_records) : row.entry;
                     },
                     {{"complete", complete}});
}

Result<void> Past::usage(Request& request, Response& response) {
    const net::UsageLedger* ledger = context_.offers.usage;
    if (!ledger) return send_failure(response, context_.identity, 404, "usage is off: usage { enabled on; }");
    UsageFilter filter;
    const auto refuse = [&](std::string_view why) { return send_failure(response, context_.identity, 400, why); };
    for (const auto& [name, value] : {std::pair("from", &filter.from), std::pair("to", &filter.to)}) {
        const std::string_view text = request.message.parameter(name);
        if (text.empty()) continue;
        const auto day = parse_day(text);
        if (!day) return refuse(fmt::format("{} is a day, as 2026-11-29", name));
        *value = *day;
    }
    const std::string_view by = request.message.parameter("by");
    const auto groups = groups_of(by.empty() ? "day,stream" : by);
    if (!groups) return refuse("by is a list of day, vhost, app, stream and token");
    filter.vhost = request.message.parameter("vhost");
    filter.app = request.message.parameter("app");
    filter.stream = request.message.parameter("stream");
    filter.token = request.message.parameter("token");
    if (const auto result = net::evaluate_records(request, context_.snapshot->http_api);
        result.status && (*groups & kToken || !filter.token.empty()))
        return send_failure(response, context_.identity, result.status,
                            fmt::format("by=token and token=: {}", result.why));
    TRY(context_.sessions.count(kUsageFreshMs));
    std::map<net::UsageKey, net::Usage> sums;
    net::UsageKey last;
    runtime::CpuSlice slice(16);
    for (const auto* row = ledger->first(); row && sums.size() < kMaxGroups; row = ledger->after(last)) {
        last = row->first;
        if (filter.admits(last)) sums[key_of_group(last, *groups)] += row->second;
        TRY(slice.step());
    }
    List<UsageRow> list(request, context_.identity, "usage", kUsageColumns);
    for (auto sum = sums.rbegin(); sum != sums.rend(); ++sum) {
        const uint64_t viewers = std::exchange(sum->second.viewers, {}).count();
        TRY(list.add({sum->first, std::move(sum->second), viewers}));
    }
    return list.send(response, [&](const UsageRow& row) { return usage_json(row, *groups); },
                     {{"overflows", ledger->overflows()}});
}

}  // namespace service::api
