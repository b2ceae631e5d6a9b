#include "service/api/lists/log_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log_ring.h"
#include "service/api/lists/listing.h"
#include "service/api/lists/log_filter.h"

namespace service::api {

namespace {
constexpr int64_t kMaxLines = 2'000;
constexpr int64_t kUsualLines = 200;
// Bounds the time of a search.
constexpr size_t kMaxSearchBytes = 256;
}  // namespace

std::vector<Endpoint> LogLines::endpoints() {
    using enum Parameter::Type;
    Endpoints<LogLines> rows(*this, Access::kPrivileged);
    rows.get("/api/v1/log", "the newest lines of the log, from memory; with after: those that followed",
             "lines[seq:int time_ms:int level:str id:str text:str] next:int", &LogLines::answer)
        .parameters = {{.name = "after",
                        .type = kInteger,
                        .doc = "next of the answer before",
                        .least = 0,
                        .most = INT64_MAX,
                        .initial = 0},
                       {.name = "level",
                        .doc = "lines of this level and above",
                        .choices = {"verbose", "info", "trace", "warn", "error"}},
                       search_parameter("lines alone whose text or id has this in it; at most 256 bytes"),
                       {.name = "stream",
                        .doc = "lines alone of the sessions of this stream, also of those that ended, and lines that "
                               "name it: its name, app/name, vhost/app/name or id"},
                       {.name = "client", .doc = "the same of this client: session's id or address"},
                       {.name = "count",
                        .type = kInteger,
                        .doc = "how many at most",
                        .least = 1,
                        .most = kMaxLines,
                        .initial = kUsualLines}};
    return rows.take();
}

base::Result<void> LogLines::answer(Request& request, Response& response) {
    const auto after = number_parameter(request, "after", 0, 0, INT64_MAX);
    const auto count = number_parameter(request, "count", kUsualLines, 1, kMaxLines);
    const auto level = http::find_parameter(request.message.parameters, "level");
    const std::string_view search = request.message.parameter("search");
    const std::string_view stream = request.message.parameter("stream");
    const std::string_view client = request.message.parameter("client");
    base::log::Ring::Query query{.search = base::lower(search)};
    if (!after || !count)
        return send_failure(response, context_.identity, 400,
                            fmt::format("after is a whole number, count one from 1 to {}", kMaxLines));
    if (level && (!base::log::parse_level(*level, query.level) || *level != base::log::level_name(query.level) ||
                  query.level == base::log::Level::kOff))
        return send_failure(response, context_.identity, 400, "level is verbose, info, trace, warn or error");
    if (std::max({search.size(), stream.size(), client.size()}) > kMaxSearchBytes)
        return send_failure(response, context_.identity, 400,
                            fmt::format("search, stream and client have at most {} bytes", kMaxSearchBytes));
    query.after = static_cast<uint64_t>(*after);
    query.count = static_cast<size_t>(*count);
    LogFilter filter(context_.sessions, stream, client);
    if (!filter.admits_all())
        query.filter = [&filter](const base::log::Ring::Line& line) { return filter.admits(line); };
    const base::log::Ring::Page page = base::log::ring().read(query);
    ListWriter writer(context_.identity, "lines");
    for (const base::log::Ring::Line& line : page.lines)
        TRY(writer.add({{"seq", line.seq},
                        {"time_ms", line.time_ms},
                        {"level", base::log::level_name(line.level)},
                        {"id", line.id},
                        {"text", line.text}}));
    return writer.send(response, {{"next", page.next}});
}

}  // namespace service::api
