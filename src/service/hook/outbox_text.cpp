#include "service/hook/outbox_text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/record_lines.h"

namespace service::hook {

namespace {

using base::record_line;
using Fields = std::vector<std::string>;

constexpr std::string_view kRun = "run", kReport = "report", kSession = "session", kDone = "done", kEnd = "end";
constexpr size_t kReportFields = 14, kSessionFields = 11;

template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return number;
}

std::string_view type_of(std::string_view line) { return line.substr(0, line.find('\t')); }

// Whether the run has ended, behind a line of that type. The line of a run may be missing: the disk was full.
void update_ended(std::string_view type, bool& has_ended) {
    if (type == kEnd) has_ended = true;
    if (type == kRun || type == kReport || type == kSession) has_ended = false;
}

// The field behind the type.
std::optional<uint64_t> number_in(std::string_view line) {
    const size_t tab = line.find('\t');
    if (tab == line.npos) return std::nullopt;
    line.remove_prefix(tab + 1);
    return number_of<uint64_t>(line.substr(0, line.find('\t')));
}

std::optional<net::Action> action_of(std::string_view name) {
    for (const net::Action action : {net::Action::kConnect, net::Action::kPublish, net::Action::kPlay})
        if (net::action_name(action) == name) return action;
    return std::nullopt;
}

std::optional<SavedReport> read_report(uint64_t number, std::string_view line) {
    Fields f = base::record_fields(line);
    if (f.size() != kReportFields) return std::nullopt;
    const auto made_ms = number_of<int64_t>(f[3]);
    const auto hook = hook_of(f[4]);
    const auto index = number_of<uint32_t>(f[6]);
    const auto first = number_of<uint64_t>(f[9]), second = number_of<uint64_t>(f[11]);
    const std::string& body = f[13];
    const bool is_object = body.size() >= 2 && body.front() == '{' && body.back() == '}';
    if (!made_ms || !hook || !index || !first || !second || !is_object) return std::nullopt;
    return SavedReport{.number = number,
                       .run = std::move(f[2]),
                       .made_ms = *made_ms,
                       .hook = *hook,
                       .vhost = std::move(f[5]),
                       .index = *index,
                       .url = std::move(f[7]),
                       .client_id = std::move(f[8]),
                       .positions = {{{*first, f[10] == "1"}, {*second, f[12] == "1"}}},
                       .body = std::move(f[13])};
}

std::optional<SavedSession> read_session(uint64_t number, std::string_view line) {
    Fields f = base::record_fields(line);
    if (f.size() != kSessionFields) return std::nullopt;
    const auto action = action_of(f[3]);
    if (!action) return std::nullopt;
    SavedSession session{.number = number, .run = std::move(f[2])};
    net::Visitor& visitor = session.visitor;
    visitor.action = *action;
    visitor.id = std::move(f[4]);
    visitor.ip = std::move(f[5]);
    visitor.vhost = std::move(f[6]);
    visitor.app = std::move(f[7]);
    visitor.stream = std::move(f[8]);
    visitor.param = std::move(f[9]);
    visitor.tc_url = std::move(f[10]);
    return session;
}

}  // namespace

std::string report_line(const SavedReport& r) {
    const auto& [first, second] = r.positions;
    const auto flag = [](bool is_set) { return is_set ? "1" : "0"; };
    return record_line({kReport, std::to_string(r.number), r.run, std::to_string(r.made_ms), hook_name(r.hook), r.vhost,
                        std::to_string(r.index), r.url, r.client_id, std::to_string(first.sequence),
                        flag(first.is_shared), std::to_string(second.sequence), flag(second.is_shared), r.body});
}

std::string session_line(const SavedSession& s) {
    const net::Visitor& v = s.visitor;
    return record_line({kSession, std::to_string(s.number), s.run, net::action_name(v.action), v.id, v.ip, v.vhost,
                        v.app, v.stream, v.param, v.tc_url});
}

std::string done_line(uint64_t number) { return record_line({kDone, std::to_string(number)}); }
std::string run_line(std::string_view run) { return record_line({kRun, run}); }
std::string end_line() { return record_line({kEnd}); }

SavedOutbox read_outbox(std::string_view text) {
    SavedOutbox saved;
    std::map<uint64_t, std::string_view> live;  // lines
    for (std::string_view line; base::take_line(text, line);) {
        const std::string_view type = type_of(line);
        update_ended(type, saved.has_ended);
        if (type == kRun) {
            const Fields fields = base::record_fields(line);
            if (fields.size() != 2) continue;
            saved.run = fields[1];
        }
        const auto number = number_in(line);
        if (!number || (type != kReport && type != kSession && type != kDone)) continue;
        // No number is beyond it: the next ones would begin with 0 again.
        if (*number == UINT64_MAX) continue;
        saved.last_number = std::max(saved.last_number, *number);
        if (type == kDone)
            live.erase(*number);
        else
            live.insert_or_assign(*number, line);
    }
    for (const auto& [number, line] : live) {
        if (type_of(line) == kReport) {
            if (auto report = read_report(number, line)) saved.reports.push_back(*std::move(report));
        } else if (auto session = read_session(number, line)) {
            saved.sessions.push_back(*std::move(session));
        }
    }
    // It has told the ends of all its clients, though the disk may not have taken that.
    if (saved.has_ended) saved.sessions.clear();
    return saved;
}

std::string compact_outbox(std::string_view text, std::span<const uint64_t> live) {
    std::string run, lines;
    bool has_ended = false;
    for (std::string_view line; base::take_line(text, line);) {
        const std::string_view type = type_of(line);
        update_ended(type, has_ended);
        if (type == kRun) run = std::string(line) + "\n";
        if (type != kReport && type != kSession) continue;
        const auto number = number_in(line);
        if (!number || !std::ranges::binary_search(live, *number)) continue;
        lines += line;
        lines += '\n';
    }
    return run + lines + (has_ended ? end_line() : "");
}

}  // namespace service::hook
