#include "net/http/http_exchange.h"

#include <fmt/core.h>

#include <utility>

#include "base/redaction.h"
#include "net/http/http1_head.h"
#include "protocol/http/response_head.h"

namespace net {

namespace {
std::span<const uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
// The comment keeps the caller from choosing the script's first bytes, which other formats would interpret.
std::string script_begin(std::string_view function) { return fmt::format("/**/{}(", function); }
constexpr std::string_view kScriptEnd = ");\n";
constexpr std::string_view kJson = "application/json";
}  // namespace

std::string_view HttpRequest::capture(std::string_view name) const {
    for (auto& [key, value] : captures)
        if (key == name) return value;
    return {};
}

std::string HttpRequest::base_url(std::string_view host) const {
    if (!message.host.empty()) host = message.host;
    const bool is_ipv6 = host.find(':') != host.npos;
    std::string url = fmt::format("{}://{}{}{}", tls ? "https" : "http", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "");
    if (message.port) url += fmt::format(":{}", message.port);
    return url;
}

HttpResponse& HttpResponse::header(std::string_view name, std::string_view value) {
    CHECK(!started_);
    headers_.set(name, std::string(value));
    return *this;
}

std::string HttpResponse::date() const { return date_of_now(); }

bool HttpResponse::make_script(int& status, std::string_view& content_type) {
    if (function_.empty() || content_type != kJson || status == 401) return false;
    header("X-Content-Type-Options", "nosniff");
    content_type = "text/javascript; charset=utf-8";
    status = 200;
    return true;
}

base::Result<void> HttpResponse::send(int status, std::string_view content_type, std::string_view body) {
    CHECK(!started_);
    std::string script, redacted, rewritten;
    if (rewrite_ && status == 200 && content_type == kJson) body = rewritten = TRY(rewrite_(body));
    if (hides_secrets_ && content_type == kJson && base::has_secrets(body)) body = redacted = base::redact(body);
    if (make_script(status, content_type)) body = script = script_begin(function_).append(body).append(kScriptEnd);
    started_ = true;
    status_ = status;
    const Head head{status, content_type, body.size()};
    if (request_.is_head() || has_no_body(status)) body = {};
    count(body.size());
    TRY(put_whole(head, bytes_of(body)), "sending the response");
    complete_ = true;
    return {};
}

base::Result<void> HttpResponse::send_files(int status, std::string_view content_type, FileParts parts) {
    CHECK(!started_ && !has_no_body(status));
    started_ = true;
    status_ = status;
    uint64_t length = 0;
    for (const FilePart& part : parts) length += part.length;
    length_left_ = length;
    if (request_.is_head()) parts.clear();
    TRY(put_files({status, content_type, length}, std::move(parts),
                  [this](size_t bytes) {
                      count(bytes);
                      *length_left_ -= bytes;
                  }),
        "sending a file");
    return end();
}

base::Result<void> HttpResponse::send_head(int status, std::string_view content_type) {
    CHECK(!started_ && request_.is_head());
    started_ = true;
    status_ = status;
    keep_alive_ = false;
    TRY(put_whole({status, content_type, std::nullopt}, {}));
    complete_ = true;
    return {};
}

base::Result<void> HttpResponse::send_error(int status, std::string_view text) {
    if (options_.json_error)
        return send(status, kJson, options_.json_error(status, text.empty() ? http::reason_phrase(status) : text));
    std::string page = fmt::format("{} {}\n", status, http::reason_phrase(status));
    if (!text.empty()) page.append(text).append("\n");
    return send(status, "text/plain; charset=utf-8", page);
}

base::Result<void> HttpResponse::redirect(int status, std::string_view location) {
    header("Location", location);
    return send_error(status, location);
}

base::Result<void> HttpResponse::begin(int status, std::string_view content_type, std::optional<uint64_t> length) {
    CHECK(!started_);
    std::string script;
    if (make_script(status, content_type)) {
        script = script_begin(function_);
        script_end_ = kScriptEnd;
        if (length) *length += script.size() + kScriptEnd.size();
    }
    started_ = true;
    status_ = status;
    if (has_no_body(status)) length = 0;
    length_left_ = length;
    TRY(put_head({status, content_type, length}));
    return write(script);
}

void HttpResponse::count(size_t bytes) {
    body_bytes_ += bytes;
    if (observer_ && bytes > 0) observer_(bytes);
}

base::Result<void> HttpResponse::write(std::span<const uint8_t> bytes) {
    CHECK(started_ && !complete_);
    if (bytes.empty() || request_.is_head()) return {};
    count(bytes.size());
    if (length_left_) {
        CHECK(bytes.size() <= *length_left_);
        *length_left_ -= bytes.size();
    }
    return put_body(bytes);
}

base::Result<void> HttpResponse::write(std::string_view text) { return write(bytes_of(text)); }

base::Result<void> HttpResponse::end() {
    if (!started_ || complete_) return {};
    TRY(write(std::exchange(script_end_, {})));
    if (request_.is_head()) {
        complete_ = true;
        return {};
    }
    if (length_left_.value_or(0) > 0)
        return base::fail(base::Code::kOther, fmt::format("the response is {} bytes short", *length_left_));
    if (!length_left_) TRY(put_end(), "ending the response");
    complete_ = true;
    return {};
}

base::Result<void> HttpResponse::defer(std::unique_ptr<Deferred> deferred, int64_t limit_ms) {
    CHECK(!started_);
    auto share = TRY(reserve_wait());
    deferral_ = std::make_unique<Deferral>(Deferral{std::move(deferred), std::move(share), limit_ms});
    started_ = true;
    return {};
}

void HttpResponse::mark_detached() {
    CHECK(!started_);
    detached_ = started_ = true;
}

base::Result<HttpResponse::Detached> HttpResponse::detach(int status, std::string_view content_type) {
    CHECK(!started_);
    status_ = status;
    keep_alive_ = false;
    Detached detached = TRY(put_detached({status, content_type, std::nullopt}));
    mark_detached();
    return detached;
}

}  // namespace net
