#include "server/why/command.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <cstdio>
#include <optional>

#include "base/json.h"
#include "net/http/http_client.h"
#include "protocol/http/url.h"
#include "runtime/loop/coroutine.h"
#include "server/why/listeners.h"
#include "server/why/report.h"
#include "server/why/service.h"

namespace server::why {
namespace {

constexpr int64_t kAnswerMs = 15'000;
constexpr size_t kMaxAnswer = 1 << 20;  // bytes

std::string base64_of(const std::string& text) {
    std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
    const int size = EVP_EncodeBlock(reinterpret_cast<uint8_t*>(out.data()),
                                     reinterpret_cast<const uint8_t*>(text.data()), static_cast<int>(text.size()));
    out.resize(static_cast<size_t>(size));
    return out;
}

std::string authorization_of(const config::HttpApiAuth& auth) {
    if (!auth.enabled) return {};
    if (!auth.tokens.empty()) return "Bearer " + auth.tokens.front();
    if (!auth.token.empty() && auth.type != "basic") return "Bearer " + auth.token;
    return "Basic " + base64_of(auth.username + ":" + auth.password);
}

// Of the API's first listener, on this machine. Empty: it is not enabled.
std::string api_of(const config::Snapshot& snapshot) {
    const config::HttpApi& api = snapshot.http_api;
    if (!api.enabled || api.listen.empty()) return {};
    config::ListenAddress address = api.listen.front();
    address.host = local_host_of(address);
    return "http://" + address.text();
}

std::string request_of(const std::string& api, const Question& question) {
    std::string url = fmt::format("{}/api/v1/why?url={}", api, http::percent_encode(question.url, ""));
    if (question.publishes) url += "&publish=1";
    if (!question.plays) url += "&play=0";
    if (!question.ip.empty()) url += "&ip=" + http::percent_encode(question.ip, "");
    if (!question.page.empty()) url += "&page=" + http::percent_encode(question.page, "");
    return url;
}

// The answer of the running server; an error: there is none. Starts and ends the loop.
base::Result<net::HttpAnswer> ask_server(const config::Snapshot& snapshot, const std::string& url) {
    TRY(runtime::init());
    base::Result<net::HttpAnswer> answer = [&] {
        net::HttpClient client;
        net::HttpCall call;
        call.method = http::Method::kGet;
        call.url = url;
        call.max_body_bytes = kMaxAnswer;
        if (const std::string authorization = authorization_of(snapshot.http_api.auth); !authorization.empty())
            call.headers.add("Authorization", authorization);
        return client.call(std::move(call), runtime::Deadline::in_ms(kAnswerMs));
    }();
    runtime::shutdown();
    return answer;
}

int print_json(const base::Json& answer) {
    std::fputs(report(answer).c_str(), stdout);
    return has_bad(answer) ? 1 : 0;
}

int print_configuration(const config::Snapshot& snapshot, const Question& question, const std::string& why) {
    std::fputs(fmt::format("{}\n", why).c_str(), stdout);
    const Diagnosis diagnosis =
        diagnose_configuration(snapshot, question.url, question.publishes, question.ip, question.page);
    static_cast<void>(print_json(base::parse_json(base::to_text(to_json(diagnosis)))));
    // Without a server nothing plays.
    return 1;
}

}  // namespace

int run(const config::Snapshot& snapshot, const Question& question) {
    const std::string api = api_of(snapshot);
    if (api.empty())
        return print_configuration(snapshot, question,
                                   "the server cannot be asked without its API: http_api { enabled on; }");
    const auto answer = ask_server(snapshot, request_of(api, question));
    if (!answer)
        return print_configuration(
            snapshot, question,
            fmt::format("no server answers at {} ({}); objs/srs -c FILE starts it", api, answer.error().text()));
    const base::Json json = base::parse_json(answer->body);
    if (answer->status != 200 || !json.is_object()) {
        std::string text;
        if (json.is_object() && json.contains("error") && json["error"].is_string()) text = json["error"];
        return print_configuration(
            snapshot, question, fmt::format("the server at {} does not say: status {} {}", api, answer->status, text));
    }
    return print_json(json);
}

}  // namespace server::why
