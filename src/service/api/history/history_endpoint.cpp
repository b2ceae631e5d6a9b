#include "service/api/history/history_endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "base/clock.h"
#include "base/json.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"
#include "service/api/lists/listing.h"
#include "service/api/lists/times.h"

namespace service::api {

namespace {

// The times of a request, in s of the loop's clock, by which figures are kept.
struct Range {
    int64_t from_s = 0, to_s = 0, step_s = 1;
};

// What is to be added to the loop's clock for the time of day, ms.
int64_t clock_offset_ms() { return base::wall_ms() - runtime::now_ms(); }

// Nothing: a parameter is invalid.
std::optional<Range> range_of(const Request& request) {
    const int64_t now_ms = base::wall_ms(), offset_ms = clock_offset_ms();
    const auto time_of = [&](std::string_view name, int64_t initial) {
        const auto text = http::find_parameter(request.message.parameters, name);
        return text ? parse_time(*text, now_ms) : std::optional(initial);
    };
    const auto step = number_parameter(request, "step", 1, 1, HistoryEndpoint::kMaxStepS);
    if (!step) return std::nullopt;
    const bool of_minutes = *step >= 60;
    const auto from = time_of("from", now_ms - (of_minutes ? 24 * 3'600'000 : 3'600'000));
    const auto to = time_of("to", now_ms);
    if (!from || !to) return std::nullopt;
    Range range;
    range.step_s = of_minutes ? *step / 60 * 60 : *step;
    const int64_t now_s = runtime::now_ms() / 1'000;
    // The present second is not over.
    range.to_s = std::clamp<int64_t>((*to - offset_ms) / 1'000, 0, now_s + 1);
    range.from_s = std::clamp<int64_t>((*from - offset_ms) / 1'000, 0, range.to_s);
    range.from_s -= range.from_s % range.step_s;
    return range;
}

void write_number(std::string& text, double value) {
    if (value == std::floor(value) && std::abs(value) < 1e15)
        fmt::format_to(std::back_inserter(text), "{}", static_cast<int64_t>(value));
    else
        fmt::format_to(std::back_inserter(text), "{:.4g}", value);
}

void write_array(std::string& text, const FigurePoints& points, const std::vector<double>& values) {
    text += '[';
    for (size_t i = 0; i < values.size(); ++i) {
        if (i > 0) text += ',';
        if (points.present[i])
            write_number(text, values[i]);
        else
            text += "null";
    }
    text += ']';
}

// The object of figures; one that was 0 throughout is not in it. Yields.
base::Result<std::string> figures_text(const FigurePoints& points, std::span<const FigureSpec> specs) {
    runtime::CpuSlice slice(1);
    std::string text = "{";
    for (size_t i = 0; i < specs.size(); ++i) {
        if (points.values[i].empty()) continue;
        text += fmt::format("{}\"{}\":", text.size() > 1 ? "," : "", specs[i].name);
        write_array(text, points, points.values[i]);
        TRY(slice.step());
    }
    return text + "}";
}

}  // namespace

std::vector<Endpoint> HistoryEndpoint::endpoints() {
    Endpoints<HistoryEndpoint> rows(*this);
    Endpoint& figures = rows.get(
        "/api/v1/history",
        "figures of the server, or of a stream, of each second of the last hour or each minute of the last day; code "
        "2048: nothing is known of such a stream",
        "stream?{id:str vhost:str app:str name:str published:bool}|null from_ms?:int step_ms?:int points?:int "
        "next_ms?:int|null present?[:bool] figures?:any error?:str",
        &HistoryEndpoint::figures);
    figures.parameters = {
        {.name = "stream", .doc = "of the stream with this id; absent: of the server"},
        {.name = "from", .doc = "ms since 1970, \"2026-11-29T21:03:04Z\", \"-30m\"; absent: an hour ago, or a day"},
        {.name = "to", .doc = "likewise; absent: now"},
        {.name = "step",
         .type = Parameter::Type::kInteger,
         .doc = "seconds between two points; from 60 on whole minutes, of which a day is kept",
         .least = 1,
         .most = kMaxStepS,
         .initial = 1}};
    Endpoint& streams =
        rows.get("/api/v1/history/streams", "the streams that have figures of the past, also those that ended",
                 "total:int streams[id:str vhost:str app:str name:str published:bool from_ms:int|null to_ms:int|null] "
                 "memory_bytes:int limit_bytes:int left_out:int forgotten:int",
                 &HistoryEndpoint::streams);
    streams.of_both = {.lists = {{.name = "streams", .key = "id", .total = "total"}},
                       .sums = {"left_out", "forgotten"}};
    streams.parameters = page_parameters();
    streams.parameters.push_back(search_parameter("those alone whose URL (vhost/app/name) has this in it"));
    return rows.take();
}

base::Result<void> HistoryEndpoint::figures(Request& request, Response& response) {
    const auto range = range_of(request);
    if (!range) return send_failure(response, context_.identity, 400, "from and to are times, step is 1 to 86400 s");
    const auto id = http::find_parameter(request.message.parameters, "stream");
    const History::StreamRecord* stream = id ? history_.find(*id) : nullptr;
    // The stream's figures are those of the process that has its publisher.
    const bool is_there = id && (!stream || earlier_.publishes(stream->key));
    if (is_there && TRY(earlier_.passes_on(request, response))) return {};
    if (is_there) stream = history_.find(*id);  // it may have been forgotten meanwhile
    if (id && !stream) return send_missing(response, context_.identity, Missing::kStream);
    const FigureRecord& record = stream ? stream->record : history_.server();
    // What there is not is not answered.
    const auto step_s = static_cast<uint32_t>(range->step_s);
    const int64_t first_s = record.first_s(step_s).value_or(static_cast<uint32_t>(range->to_s));
    const int64_t from_s = std::min(std::max(range->from_s, first_s - first_s % step_s), range->to_s);
    const int64_t wanted = (range->to_s - from_s + step_s - 1) / step_s, count = std::min(wanted, kMaxPoints);
    const FigurePoints points = record.points(static_cast<uint32_t>(from_s), static_cast<size_t>(count), step_s);
    Json head = envelope(context_.identity);
    head["stream"] = nullptr;
    if (stream)
        head["stream"] = {{"id", stream->id},
                          {"vhost", stream->key.vhost},
                          {"app", stream->key.app},
                          {"name", stream->key.name},
                          {"published", stream->is_live}};
    const int64_t offset_ms = clock_offset_ms();
    head["from_ms"] = from_s * 1'000 + offset_ms;
    head["step_ms"] = range->step_s * 1'000;
    head["points"] = count;
    head["next_ms"] = wanted > count ? Json((from_s + count * step_s) * 1'000 + offset_ms) : Json(nullptr);
    const auto specs = record.specs();
    std::string text = base::to_text(head);  // the record may be gone after the next step
    text.pop_back();
    text += ",\"present\":[";
    for (size_t i = 0; i < points.present.size(); ++i)
        text += fmt::format("{}{}", i > 0 ? "," : "", points.present[i] ? "true" : "false");
    text += "],\"figures\":" + TRY(figures_text(points, specs)) + "}";
    return response.send(200, "application/json", text);
}

base::Result<void> HistoryEndpoint::streams(Request& request, Response& response) {
    struct Row {
        std::string id;
        live::StreamKey key;
        bool published;
        std::optional<uint32_t> from_s, to_s;
    };
    const Page page = page_of(request);
    const Search search(request.message.parameter("search"));
    std::vector<Row> rows;
    size_t total = 0;
    for (const History::StreamRecord* one : history_.streams()) {
        if (!search.matches(net::stream_url(one->key))) continue;
        if (page.has(total++)) {
            const auto minute = one->record.first_s(60), second = one->record.first_s(1);
            rows.push_back({one->id, one->key, one->is_live, minute && second ? std::min(minute, second) : second,
                            one->record.last_s()});
        }
    }
    const int64_t offset_ms = clock_offset_ms();
    const auto time = [&](const std::optional<uint32_t>& at_s) {
        return at_s ? Json(*at_s * int64_t{1'000} + offset_ms) : Json(nullptr);
    };
    ListWriter writer(context_.identity, "streams");
    for (const Row& row : rows)
        TRY(writer.add({{"id", row.id},
                        {"vhost", row.key.vhost},
                        {"app", row.key.app},
                        {"name", row.key.name},
                        {"published", row.published},
                        {"from_ms", time(row.from_s)},
                        {"to_ms", time(row.to_s)}}));
    return writer.send(response, {{"total", total},
                                  {"memory_bytes", history_.bytes()},
                                  {"limit_bytes", history_.limit()},
                                  {"left_out", history_.left_out()},
                                  {"forgotten", history_.forgotten()}});
}

}  // namespace service::api
