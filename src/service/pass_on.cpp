#include "service/pass_on.h"

#include <utility>

namespace service {

namespace {

// Of the request and of the answer. What the caller may do is not among them: this process decides that.
constexpr const char* kRequestFields[] = {"Content-Type",      "If-Match", "If-None-Match", "Authorization",
                                          "If-Modified-Since", "Range",    "If-Range"};
constexpr const char* kAnswerFields[] = {"ETag",          "Accept-Patch",   "Cache-Control", "Content-Disposition",
                                         "Content-Range", "Accept-Ranges",  "Last-Modified", "X-Content-Type-Options",
                                         "X-Clip-Start",  "X-Clip-Duration"};

std::string why_none(const base::Error& error) {
    if (error.code() == base::Code::kLimit)
        return "the process that was replaced: " + error.text() + "; of a file, a part can be had by Range";
    return "the process that was replaced does not answer";
}

}  // namespace

bool has_earlier_process(const Offers& offers, const net::HttpRequest& request) {
    return offers.other_process && offers.other_process->is_replaced() && !request.is_of_other_process;
}

base::Result<bool> pass_on(const Offers& offers, PassOn what, const net::HttpRequest& request,
                           net::HttpResponse& response) {
    if (!has_earlier_process(offers, request)) return false;
    OtherRequest passed{.router = what.router, .method = what.method, .target = std::move(what.target)};
    passed.body = request.message.body;
    passed.is_slow = what.within_ms > passed.within_ms;
    passed.within_ms = what.within_ms;
    if (what.sees_records) passed.headers.add(std::string(net::kSeesRecords), "1");
    // Who it is for, in its log and its limits.
    passed.headers.add("X-Forwarded-For", request.peer_ip);
    for (const char* name : kRequestFields)
        if (const auto value = request.message.headers.find(name)) passed.headers.add(name, std::string(*value));
    if (!response.hides_secrets()) passed.headers.add(std::string(net::kSeesSecrets), "1");
    auto answer = offers.other_process->ask(std::move(passed));
    if (!answer) {
        if (answer.error().code() == base::Code::kCancelled) return std::unexpected(std::move(answer).error());
        if (answer.error().code() == base::Code::kClosed) return false;
        response.header("Retry-After", "5");
        TRY(response.send_error(503, why_none(answer.error())));
        return true;
    }
    for (const char* name : kAnswerFields)
        if (const auto value = answer->headers.find(name)) response.header(name, *value);
    TRY(response.send(answer->status, answer->headers.get("Content-Type"), answer->body));
    return true;
}

}  // namespace service
