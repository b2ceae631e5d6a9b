#include "service/api/diagnosis/debug.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/log.h"
#include "runtime/diagnose/cpu_profile.h"
#include "runtime/diagnose/heap_profile.h"
#include "runtime/diagnose/machine.h"
#include "runtime/diagnose/watchdog.h"
#include "runtime/disk/disk.h"
#include "runtime/socket/udp.h"
#include "runtime/threads/workers.h"

namespace service::api {
namespace {

constexpr int64_t kMaxSeconds = 300;
constexpr std::string_view kText = "text/plain; charset=utf-8";

// The table is read by a worker thread on first use.
base::Result<const runtime::Symbols*> symbols_ready() {
    static bool ready = false;
    if (!ready) TRY(runtime::offload([] { runtime::Symbols::get(); }, runtime::Deadline::in_ms(30'000)));
    ready = true;
    return &runtime::Symbols::get();
}

int status_of(const base::Error& error) {
    switch (error.code()) {
        case base::Code::kBusy:
            return 409;
        case base::Code::kNotFound:
            return 501;
        default:
            return 500;
    }
}

}  // namespace

std::vector<Endpoint> Debug::endpoints() {
    Endpoints<Debug> rows(*this, Access::kPrivileged);
    const auto add = [&](const char* path, const char* summary, const char* content_type, auto handler) -> Endpoint& {
        Endpoint& row = rows.get(std::string("/api/v1/debug/") + path, summary, "", handler);
        row.debug = true;
        row.content_type = content_type;
        return row;
    };
    constexpr const char *kJson = "application/json", *kPlain = "text/plain";
    const Parameter seconds{.name = "seconds",
                            .type = Parameter::Type::kInteger,
                            .doc = "how long",
                            .least = 1,
                            .most = kMaxSeconds,
                            .initial = 10};
    Endpoint& list =
        add("coroutines", "every coroutine with its wait reason and its position", kJson, &Debug::coroutines);
    list.shape = "total:int coroutines[name:str id:str waits_for:str]";
    list.parameters = {{.name = "calls", .doc = "off: without call stacks, which is quicker"}};
    add("runtime", "the event loop's iterations and stalls, the disk, and UDP loss", kJson, &Debug::runtime_figures)
        .shape =
        "data{coroutines:int turns:int stalls:int stalled_ms:int longest_stall_ms:int last_stalls:any "
        "last_thread_stalls:any disk:any "
        "udp:any}";
    Parameter short_seconds = seconds;
    short_seconds.initial = 5;
    Endpoint& stacks = add("profile", "a CPU profile as folded stacks, for flame graphs", kPlain, &Debug::folded);
    stacks.parameters = {short_seconds, {.name = "format", .doc = "the form", .choices = {"folded"}}};
    stacks.failures = {{409, "one is being recorded already"}};
    Endpoint& profile = add("pprof/profile", "a CPU profile, for pprof", "application/octet-stream", &Debug::profile);
    profile.parameters = {seconds};
    profile.failures = {{409, "one is being recorded already"}};
    Endpoint& heap = add("pprof/heap", "the allocated memory, for pprof; needs tcmalloc", kPlain, &Debug::heap);
    heap.parameters = {seconds};
    heap.failures = {{501, "this build has no tcmalloc"}};
    Endpoint& symbol = add("pprof/symbol", "names of functions, for pprof", kPlain, &Debug::symbol);
    symbol.methods.push_back(http::Method::kPost);
    symbol.body_limit_bytes = 4 * 1024 * 1024;
    add("pprof/cmdline", "the command line, for pprof", kPlain, &Debug::cmdline);
    return rows.take();
}

base::Result<std::optional<runtime::CpuProfile>> Debug::record(Request& request, Response& response,
                                                               int64_t initial_s) {
    const auto seconds = number_parameter(request, "seconds", initial_s, 1, kMaxSeconds);
    if (!seconds) {
        TRY(send_failure(response, context_.identity, 400,
                         fmt::format("seconds must be a whole number from 1 to {}", kMaxSeconds)));
        return std::optional<runtime::CpuProfile>();
    }
    base::log::trace("a CPU profile of {} s is recorded for {}", *seconds, request.peer_ip);
    runtime::CpuProfileOptions options;
    options.duration_ms = *seconds * 1000;
    options.give_up = [&response] { return response.peer_gone(); };
    auto recorded = runtime::record_cpu_profile(options);
    if (!recorded && recorded.error().code() == base::Code::kCancelled)
        return std::unexpected(std::move(recorded.error()));
    if (!recorded) {
        TRY(send_failure(response, context_.identity, status_of(recorded.error()), recorded.error().text()));
        return std::optional<runtime::CpuProfile>();
    }
    response.header("X-Profile-Samples", std::to_string(recorded->samples));
    response.header("X-Profile-Lost", std::to_string(recorded->lost));
    return std::optional(*std::move(recorded));
}

base::Result<void> Debug::profile(Request& request, Response& response) {
    if (request.is_head()) return response.send_head(200, "application/octet-stream");
    const auto recorded = TRY(record(request, response, 10));
    if (!recorded) return {};
    response.header("Content-Disposition", "attachment; filename=\"srs.cpu.pprof\"");
    return response.send(200, "application/octet-stream", recorded->to_pprof());
}

base::Result<void> Debug::folded(Request& request, Response& response) {
    const auto format = http::find_parameter(request.message.parameters, "format");
    if (format && *format != "folded") return send_failure(response, context_.identity, 400, "format is folded");
    if (request.is_head()) return response.send_head(200, kText);
    auto recorded = TRY(record(request, response, 5));
    if (!recorded) return {};
    struct Work {
        runtime::CpuProfile profile;
        std::string text{};
    };
    auto work = std::make_shared<Work>(Work{*std::move(recorded)});
    TRY(runtime::offload([work] { work->text = work->profile.to_folded(runtime::Symbols::get()); },
                         runtime::Deadline::in_ms(30'000)));
    return response.send(200, kText, work->text);
}

base::Result<void> Debug::heap(Request& request, Response& response) {
    if (!runtime::can_profile_heap()) {
        return send_failure(response, context_.identity, 501,
                            "this build does not link tcmalloc: ./configure --gperf=on (and --gmp=on for everything "
                            "since the start)");
    }
    const auto seconds = number_parameter(request, "seconds", 10, 1, kMaxSeconds);
    if (!seconds) {
        return send_failure(response, context_.identity, 400,
                            fmt::format("seconds must be a whole number from 1 to {}", kMaxSeconds));
    }
    auto recorded = runtime::record_heap_profile(*seconds * 1000);
    if (!recorded && recorded.error().code() == base::Code::kCancelled)
        return std::unexpected(std::move(recorded.error()));
    if (!recorded)
        return send_failure(response, context_.identity, status_of(recorded.error()), recorded.error().text());
    return response.send(200, kText, *recorded);
}

base::Result<void> Debug::cmdline(Request&, Response& response) {
    std::string words = runtime::read_small_file("/proc/self/cmdline");
    std::ranges::replace(words, '\0', '\n');
    return response.send(200, kText, words);
}

std::string symbolise(std::string_view addresses, const runtime::Symbols& symbols) {
    std::string out;
    while (!addresses.empty()) {
        const size_t end = std::min(addresses.find('+'), addresses.size());
        std::string_view word = addresses.substr(0, end);
        addresses.remove_prefix(std::min(end + 1, addresses.size()));
        std::string_view digits = word.starts_with("0x") ? word.substr(2) : word;
        uintptr_t address = 0;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), address, 16);
        if (digits.empty() || read.ec != std::errc() || read.ptr != digits.data() + digits.size()) continue;
        out.append(word).append("\t").append(symbols.name(address)).append("\n");
    }
    return out;
}

// pprof sends a GET to check whether there are symbols, and posts the addresses.
base::Result<void> Debug::symbol(Request& request, Response& response) {
    const runtime::Symbols* symbols = TRY(symbols_ready());
    std::string_view addresses = request.message.body;
    if (request.message.method != http::Method::kPost) addresses = request.message.raw_query;
    if (addresses.empty()) return response.send(200, kText, fmt::format("num_symbols: {}\n", symbols->size()));
    return response.send(200, kText, symbolise(addresses, *symbols));
}

Json Debug::coroutine_json(const runtime::CoroutineInfo& info, const runtime::Symbols* symbols) const {
    Json one = {{"name", info.name},
                {"id", info.context_id},
                {"waits_for", info.waits_for},
                {"waits_ms", info.waits_ms},
                {"stack_bytes", info.stack_now_bytes},
                {"stack_size", info.stack_bytes}};
    if (info.fd >= 0) one["fd"] = info.fd;
    if (info.left_ms >= 0) one["left_ms"] = info.left_ms;
    if (const net::Session* session = context_.sessions.find(info.context_id))
        one["client"] = {{"type", net::session_type_name(session->type())},
                         {"ip", session->ip()},
                         {"stream", session->stream_text()}};
    if (symbols) {
        Json calls = Json::array();
        // A return address is after its call instruction.
        for (const uintptr_t address : info.calls) calls.push_back(symbols->name(address - 1));
        one["calls"] = std::move(calls);
    }
    return one;
}

base::Result<void> Debug::runtime_figures(Request&, Response& response) {
    const runtime::LoopStats& stats = runtime::loop_stats();
    Json last = Json::array(), last_of_threads = Json::array();
    for (const runtime::Stall& stall : stats.last_of_threads)
        last_of_threads.push_back({{"thread", stall.thread},
                                   {"ms", stall.ms},
                                   {"cpu_ms", stall.cpu_ms},
                                   {"cause", runtime::stall_cause_name(stall.cause)}});
    for (const runtime::Stall& stall : stats.last) {
        last.push_back({{"ms", stall.ms},
                        {"watched_ms", stall.watched_ms},
                        {"cpu_ms", stall.cpu_ms},
                        {"cause", runtime::stall_cause_name(stall.cause)},
                        {"coroutine", stall.coroutine},
                        {"id", stall.context_id},
                        {"calls", stall.calls}});
    }
    const runtime::disk::Status disk = runtime::disk::status();
    const runtime::UdpStats udp = runtime::udp_totals();
    const runtime::UdpRate& second = runtime::udp_rate();
    Json data = {{"coroutines", runtime::coroutine_count()},
                 {"turns", stats.iterations},
                 {"stalls", stats.stalls},
                 {"stalled_ms", stats.stalled_ms},
                 {"longest_stall_ms", stats.longest_stall_ms},
                 {"last_stalls", std::move(last)},
                 {"last_thread_stalls", std::move(last_of_threads)},
                 {"disk",
                  {{"files_open", disk.files_open},
                   {"operations", disk.operations},
                   {"bytes_in_flight", disk.bytes_in_flight},
                   {"bytes_buffered", disk.bytes_buffered},
                   {"bytes_written", disk.bytes_written},
                   {"writes", disk.writes},
                   {"files_failed", disk.files_failed},
                   {"files_too_slow", disk.files_dropped},
                   {"slow_warnings", disk.slow_warnings},
                   {"last_error", disk.last_error}}},
                 {"udp",
                  {{"sockets", runtime::udp_sockets()},
                   {"received", udp.received},
                   {"sent", udp.sent},
                   {"receive_lost", udp.receive_lost},
                   {"send_lost", udp.send_lost},
                   {"receive_lost_per_second", second.receive_lost},
                   {"send_lost_per_second", second.send_lost}}}};
    return send_data(response, context_.identity, std::move(data));
}

namespace {
std::string as_text(const Json& one) {
    std::string out =
        fmt::format("{} [{}] waits {} ms for {}", one["name"].get<std::string>(), one["id"].get<std::string>(),
                    one["waits_ms"].get<int64_t>(), one["waits_for"].get<std::string>());
    if (one.contains("fd")) out += fmt::format(" of fd {}", one["fd"].get<int>());
    if (one.contains("left_ms")) out += fmt::format(", {} ms more at most", one["left_ms"].get<int64_t>());
    out += fmt::format("; stack {} of {} bytes", one["stack_bytes"].get<size_t>(), one["stack_size"].get<size_t>());
    if (one.contains("client")) {
        out += fmt::format("; {} from {}: {}", one["client"]["type"].get<std::string>(),
                           one["client"]["ip"].get<std::string>(), one["client"]["stream"].get<std::string>());
    }
    out += "\n";
    if (one.contains("calls")) {
        for (const auto& call : one["calls"]) out += "    " + call.get<std::string>() + "\n";
    }
    return out;
}
}  // namespace

base::Result<void> Debug::coroutines(Request& request, Response& response) {
    const bool with_calls = request.message.parameter("calls") != "off";
    const runtime::Symbols* symbols = with_calls ? TRY(symbols_ready()) : nullptr;
    const auto listed = runtime::list_coroutines(with_calls);
    const bool as_json = request.message.parameter("format") != "text";
    Json list = Json::array();
    std::string text = fmt::format("{} coroutines\n", listed.size());
    for (size_t i = 0; i < listed.size(); ++i) {
        Json one = coroutine_json(listed[i], symbols);
        if (as_json) {
            list.push_back(std::move(one));
        } else {
            text += as_text(one);
        }
        // Thousands of names take a while: other coroutines may run in between.
        if (i % 16 == 15) TRY(runtime::yield());
    }
    if (!as_json) return response.send(200, kText, text);
    return send_fields(response, context_.identity, {{"total", listed.size()}, {"coroutines", std::move(list)}});
}

}  // namespace service::api
