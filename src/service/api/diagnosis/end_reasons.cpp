#include "service/api/diagnosis/end_reasons.h"

#include <limits>
#include <utility>

#include "base/json.h"
#include "config/snapshot.h"
#include "service/api/lists/listing.h"
#include "service/api/lists/statistics.h"

namespace service::api {

namespace {

net::SessionView closed_view(const net::ClosedSession& closed) {
    std::string_view url = closed.stream;
    if (url.starts_with(config::kDefaultVhost)) url.remove_prefix(config::kDefaultVhost.size());
    net::SessionView view{.id = closed.id, .vhost_id = closed.vhost_id, .stream_id = closed.stream_id, .ip = closed.ip};
    view.url = url;
    view.name = url.substr(url.rfind('/') + 1);
    view.type = closed.type;
    view.alive_ms = closed.ended_ms - closed.started_ms;
    view.traffic = closed.traffic;
    view.rates = {net::kbit_per_second(closed.traffic.received_bytes, view.alive_ms),
                  net::kbit_per_second(closed.traffic.sent_bytes, view.alive_ms)};
    return view;
}

// All fields of a current client, and more.
Json closed_json(const net::ClosedSession& closed) {
    Json out = session_json(closed_view(closed), true);
    out["started_ms"] = closed.started_ms;
    out["ended_ms"] = closed.ended_ms;
    out["reason"] = base::close_reason_name(closed.reason);
    out["text"] = closed.text;
    return out;
}

}  // namespace

base::Result<void> closed_clients(const Context& context, Earlier& earlier, Request& request, Response& response) {
    struct Row {
        net::ClosedSession session{};
        Json entry{};  // of the process that this one has replaced; else null
    };
    List<Row> list(request, context.identity, "clients");
    Earlier::Entries others;
    if (const Page page = page_of(request); earlier.has(request))
        others = TRY(earlier.list(request, "/api/v1/clients", "clients", 0, page.start + page.count));
    size_t next = 0;
    const auto add_others = [&](int64_t until_ms) -> base::Result<void> {
        for (; next < others.entries.size(); ++next) {
            const auto ended = others.entries[next].find("ended_ms");
            const bool has_end = ended != others.entries[next].end() && ended->is_number_integer();
            if (has_end && ended->get<int64_t>() < until_ms) return {};
            TRY(list.add({{}, std::move(others.entries[next])}));
        }
        return {};
    };
    // Sessions that end while this yields are not included.
    const net::ClosedSessions& closed = context.sessions.closed();
    const size_t size = closed.size();
    const uint64_t before = closed.total();
    for (size_t i = 0; i < size; ++i) {
        const size_t index = i + static_cast<size_t>(closed.total() - before);
        if (index >= closed.size()) break;
        net::ClosedSession session = closed.newest(index);
        TRY(add_others(session.ended_ms));
        TRY(list.add({std::move(session)}));
    }
    TRY(add_others(std::numeric_limits<int64_t>::min()));
    list.add_others({}, others.total - std::min(others.total, others.entries.size()));
    return list.send(response,
                     [](const Row& row) { return row.entry.is_null() ? closed_json(row.session) : row.entry; });
}

}  // namespace service::api
