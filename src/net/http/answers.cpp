#include "net/http/answers.h"

#include <fmt/format.h>

#include <utility>

#include "protocol/http/gzip.h"
#include "protocol/http/response_head.h"

namespace net {

namespace {
// Compression below this size gains nothing.
constexpr size_t kMinGzippedBytes = 100;
}  // namespace

AnswerPtr error_answer(int status, std::string_view text) {
    return std::make_shared<PreparedAnswer>(status, "text/plain; charset=utf-8",
                                            AnswerFields{{"Cache-Control", "max-age=1"}},
                                            fmt::format("{} {}\n{}\n", status, http::reason_phrase(status), text));
}

base::Result<void> send_answer(const PreparedAnswer& answer, HttpResponse& response) {
    for (const auto& [name, value] : answer.fields()) response.header(name, value);
    return response.send(answer.status(), answer.content_type(), answer.body());
}

AnswerPtr AwaitingRequest::late_answer() const { return error_answer(503, "it has not come in time"); }

base::Result<void> defer_or_refuse(std::unique_ptr<Deferred> deferred, int64_t limit_ms, HttpResponse& response) {
    auto waits = response.defer(std::move(deferred), limit_ms);
    if (waits || waits.error().code() != base::Code::kLimit) return waits;
    response.header("Retry-After", "1");
    return send_answer(*error_answer(503, waits.error().text()), response);
}

bool wants_gzip(const HttpRequest& request) {
    return http::accepts_gzip(request.message.headers.get("Accept-Encoding"));
}

base::Result<void> send_text(std::string_view content_type, std::string_view text, const HttpRequest& request,
                             HttpResponse& response) {
    response.header("Vary", "Accept-Encoding");
    const std::string gzipped =
        text.size() >= kMinGzippedBytes && wants_gzip(request) ? http::gzip(text) : std::string();
    if (gzipped.empty()) return response.send(200, content_type, text);
    response.header("Content-Encoding", "gzip");
    return response.send(200, content_type, gzipped);
}

}  // namespace net
