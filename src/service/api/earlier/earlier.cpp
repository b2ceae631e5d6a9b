#include "service/api/earlier/earlier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "protocol/http/url.h"
#include "service/api/earlier/answer_text.h"
#include "service/api/earlier/answers.h"

namespace service::api {

using base::Code;
using base::fail;
using base::Result;

namespace {

// Of an object whose names the other process chooses.
constexpr size_t kMaxMembers = 100;

// Of an array's element.
template <class T>
T number_at(const Json& array, size_t index) {
    return array[index].is_number_unsigned() ? array[index].get<T>() : T{};
}

std::optional<std::string> name_at(const Json& array, size_t index) {
    if (!array[index].is_string()) return std::nullopt;
    auto decoded = http::percent_decode(array[index].get_ref<const std::string&>());
    return decoded ? std::optional(*std::move(decoded)) : std::nullopt;
}

}  // namespace

Json earlier_stream_json(const live::StreamKey& key, const EarlierStream& stream) {
    return Json::array({http::percent_encode(key.vhost), http::percent_encode(key.app), http::percent_encode(key.name),
                        stream.clients, stream.received_kbps, stream.is_published ? 1 : 0,
                        static_cast<unsigned>(stream.level)});
}

bool read_earlier_streams(const Json& parsed, EarlierStreams& streams, size_t& total) {
    if (!parsed.is_object() || !parsed.contains("total") || !parsed["total"].is_number_unsigned()) return false;
    total = parsed["total"].get<size_t>();
    const auto list = parsed.find("streams");
    if (list == parsed.end() || !list->is_array() || list->size() > Earlier::kPieceEntries) return false;
    for (const Json& one : *list) {
        if (!one.is_array() || one.size() < 7) return false;
        auto vhost = name_at(one, 0), app = name_at(one, 1), name = name_at(one, 2);
        if (!vhost || !app || !name) return false;
        streams[{*std::move(vhost), *std::move(app), *std::move(name)}] = {
            number_at<size_t>(one, 3), number_at<uint64_t>(one, 4), number_at<uint64_t>(one, 5) != 0,
            static_cast<VerdictLevel>(std::min<uint64_t>(number_at<uint64_t>(one, 6), std::size(kVerdictLevels) - 1))};
    }
    return true;
}

void add_numbers(Json& base, const Json& other) {
    if (!base.is_object() || !other.is_object()) return;
    for (const auto& [name, value] : other.items()) {
        if (!value.is_number_unsigned() || (base.size() >= kMaxMembers && !base.contains(name))) continue;
        if (!base.contains(name)) base[name] = 0u;
        add_number(base, other, name);
    }
}

void add_counts(Json& base, const Json& other) {
    if (!base.is_object() || !other.is_object()) return;
    for (const char* name : {"clients", "send_bytes", "recv_bytes"}) add_number(base, other, name);
    const auto mine = base.find("kbps");
    const auto theirs = other.find("kbps");
    if (mine == base.end() || theirs == other.end() || !mine->is_object() || !theirs->is_object()) return;
    for (const char* name : {"recv_30s", "send_30s"}) add_number(*mine, *theirs, name);
}

void add_outputs(Json& base, const Json& other) {
    const auto mine = base.find("outputs");
    const auto theirs = other.find("outputs");
    if (mine == base.end() || theirs == other.end() || !mine->is_array() || !theirs->is_array()) return;
    const auto is_same = [](const Json& a, const Json& b) {
        return text_of(a, "output") == text_of(b, "output") && text_of(a, "to") == text_of(b, "to");
    };
    for (const Json& one : *theirs)
        if (one.is_object() && mine->size() < kMaxMembers &&
            std::ranges::none_of(*mine, [&](const Json& own) { return is_same(own, one); }))
            mine->push_back(one);
}

Earlier::Rights Earlier::rights_of(const Request& request) const {
    const config::HttpApi& api = context_.snapshot->http_api;
    return {net::may_see_secrets(request, api), net::evaluate_records(request, api).status == 0};
}

Result<Json> Earlier::ask(std::string target, Rights rights) {
    OtherRequest request{.target = std::move(target), .within_ms = kAnswerMs};
    if (rights.sees_secrets) request.headers.add(std::string(net::kSeesSecrets), "1");
    if (rights.sees_records) request.headers.add(std::string(net::kSeesRecords), "1");
    const net::HttpAnswer answer = TRY(context_.offers.other_process->ask(std::move(request)));
    if (answer.status != 200) return fail(Code::kOther, fmt::format("status {}", answer.status));
    Json json = TRY(read_answer(answer.body));
    if (!json.is_object()) return fail(Code::kProtocol, "no object");
    return json;
}

std::string Earlier::passed_parameters(const Request& request) {
    static constexpr std::string_view kOwn[] = {"start", "count", "callback", "method"};
    const std::string rest = http::without_parameters(request.message.raw_query, kOwn);
    return rest.empty() ? rest : "&" + rest;
}

Result<bool> Earlier::passes_on(const Request& request, Response& response, http::Method method, int64_t within_ms) {
    if (!has(request)) return false;
    static constexpr std::string_view kOwn[] = {"process", "callback", "method"};
    const std::string query = http::without_parameters(request.message.raw_query, kOwn);
    // JSONP asks for another method than its own.
    PassOn what{OtherRequest::Router::kApi, method, request.message.raw_path + (query.empty() ? "" : "?" + query)};
    what.sees_records = rights_of(request).sees_records;
    what.within_ms = within_ms;
    return pass_on(context_.offers, std::move(what), request, response);
}

void Earlier::join(const net::ApiOfBoth& how, Request& request, Response& response) {
    const Page page = page_of(request, how.count);
    if (!has(request) || how.lists.empty()) return;
    const bool has_lists = page.start < kMaxJoined;
    const size_t needed = has_lists ? std::min(page.start + page.count, kMaxJoined) : 1;
    if (has_lists) {
        std::erase_if(request.message.parameters,
                      [](const auto& parameter) { return parameter.first == "start" || parameter.first == "count"; });
        request.message.parameters.emplace_back("count", std::to_string(needed));
    }
    std::string target = fmt::format("{}?count={}{}", request.message.raw_path, needed, passed_parameters(request));
    response.rewrite_json([this, &how, page, has_lists, target,
                           rights = rights_of(request)](std::string_view text) -> Result<std::string> {
        Json mine = TRY(read_answer(text));
        auto theirs = ask(target, rights);
        if (!theirs && theirs.error().code() == Code::kCancelled) return std::unexpected(std::move(theirs).error());
        merge_answers(mine, theirs ? *std::move(theirs) : Json::object(), how, has_lists ? &page : nullptr);
        TRY(runtime::yield());
        return write_answer(mine);
    });
}

Result<Earlier::Entries> Earlier::list(const Request& request, std::string_view path, std::string_view name,
                                       size_t start, size_t count) {
    const std::string parameters = passed_parameters(request);
    const Rights rights = rights_of(request);
    count = std::min(count, kMaxEntries);
    const runtime::Deadline limit = runtime::Deadline::in_ms(kAnswerMs);  // of all pieces, but for the last one
    Entries all;
    while (has(request) && !limit.passed()) {
        const size_t wanted = std::min(count - all.entries.size(), kPieceEntries);
        auto answer = ask(fmt::format("{}?start={}&count={}{}", path, start + all.entries.size(),
                                      std::max<size_t>(wanted, 1), parameters),
                          rights);
        if (!answer && answer.error().code() == Code::kCancelled) return std::unexpected(std::move(answer).error());
        if (!answer) break;
        const auto found = answer->find(name);
        const auto total = answer->find("total");
        if (found == answer->end() || !found->is_array() || total == answer->end() || !total->is_number_unsigned())
            break;
        all.total = total->get<size_t>();
        const size_t came = std::min(found->size(), wanted);
        for (size_t i = 0; i < came; ++i)
            if ((*found)[i].is_object()) all.entries.push_back(std::move((*found)[i]));
        if (came < wanted || wanted == 0 || all.entries.size() >= count) break;
    }
    return all;
}

Result<Json> Earlier::member(const std::string& target, std::string_view name, Rights rights) {
    auto answer = ask(target, rights);
    if (!answer && answer.error().code() == Code::kCancelled) return std::unexpected(std::move(answer).error());
    if (!answer || !answer->contains(name)) return Json();
    return std::move((*answer)[std::string(name)]);
}

Result<Json> Earlier::answer(const Request& request, std::string target) {
    if (!has(request)) return Json();
    return whole(std::move(target), rights_of(request));
}

Result<Json> Earlier::answer(std::string target) {
    if (!is_there()) return Json();
    return whole(std::move(target), {true, true});
}

Result<Json> Earlier::whole(std::string target, Rights rights) {
    auto answer = ask(std::move(target), rights);
    if (!answer && answer.error().code() != Code::kCancelled) return Json();
    return answer;
}

Result<Json> Earlier::object(const Request& request, const std::string& target, std::string_view name) {
    if (!has(request)) return Json();
    return member(target, name, rights_of(request));
}

Result<Json> Earlier::object(const std::string& target, std::string_view name) {
    if (!is_there()) return Json();
    return member(target, name, {});
}

Result<Earlier::StreamsPtr> Earlier::streams(const Request& request) {
    static const StreamsPtr kNone = std::make_shared<const EarlierStreams>();
    return has(request) ? streams() : kNone;
}

Result<Earlier::StreamsPtr> Earlier::streams() {
    auto streams = is_there() ? streams_.get([this] { return read_streams(); })
                              : Result<StreamsPtr>(std::make_shared<const EarlierStreams>());
    if (streams || streams.error().code() == Code::kCancelled) return streams;
    return std::make_shared<const EarlierStreams>();
}

// What it does not answer is kept, too: a process that stands still is asked twice a second at most.
Result<EarlierStreams> Earlier::read_streams() {
    EarlierStreams streams;
    size_t total = 1;
    const runtime::Deadline limit = runtime::Deadline::in_ms(kStreamsMs);
    for (size_t start = 0; start < std::min(total, kMaxStreams) && !limit.passed(); start += kPieceEntries) {
        OtherProcess& other = *context_.offers.other_process;
        auto answer = other.ask({.router = OtherRequest::Router::kOwn,
                                 .target = fmt::format("/streams?start={}&count={}", start, kPieceEntries),
                                 .within_ms = kAnswerMs});
        if (!answer && answer.error().code() == Code::kCancelled) return std::unexpected(std::move(answer).error());
        if (!answer || answer->status != 200) break;
        auto page = read_answer(answer->body);
        if (!page && page.error().code() == Code::kCancelled) return std::unexpected(std::move(page).error());
        if (!page || !read_earlier_streams(*page, streams, total)) break;
    }
    return streams;
}

}  // namespace service::api
