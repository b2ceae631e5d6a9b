#include "service/pass_on.h"

#include <utility>

namespace service {

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
    for (const char* name : {"Content-Type", "If-Match", "If-None-Match", "Authorization"})
        if (const auto value = request.message.headers.find(name)) passed.headers.add(name, std::string(*value));
    if (!response.hides_secrets()) passed.headers.add(std::string(net::kSeesSecrets), "1");
    auto answer = offers.other_process->ask(std::move(passed));
    if (!answer) {
        if (answer.error().code() == base::Code::kCancelled) return std::unexpected(std::move(answer).error());
        if (answer.error().code() == base::Code::kClosed) return false;
        response.header("Retry-After", "5");
        TRY(response.send_error(503, "the process that was replaced does not answer"));
        return true;
    }
    for (const char* name : {"ETag", "Accept-Patch", "Cache-Control"})
        if (const auto value = answer->headers.find(name)) response.header(name, *value);
    TRY(response.send(answer->status, answer->headers.get("Content-Type"), answer->body));
    return true;
}

}  // namespace service
