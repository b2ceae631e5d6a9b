#include "net/http/http_exchange.h"

#include <fmt/core.h>

#include <utility>

#include "base/redaction.h"
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

HttpResponse::HttpResponse(HttpTransport& transport, const HttpRequest& request, const HttpResponseOptions& options,
                           bool keep_alive)
    : transport_(transport), request_(request), options_(options), keep_alive_(keep_alive) {}

HttpResponse& HttpResponse::header(std::string_view name, std::string_view value) {
    CHECK(!started_);
    headers_.set(name, std::string(value));
    return *this;
}

std::string HttpResponse::date() const { return date_of_now(); }

std::string HttpResponse::make_head(int status, std::string_view content_type, std::optional<uint64_t> length,
                                    Body framing) {
    status_ = status;
    return write_http1_head({.status = status,
                             .content_type = content_type,
                             .length = length,
                             .chunked = framing == Body::kChunked,
                             .keep_alive = keep_alive_,
                             .crossdomain = crossdomain(),
                             .server_name = options_.server_name},
                            {headers_.begin(), headers_.end()});
}

std::string HttpResponse::head(int status, std::string_view content_type) {
    keep_alive_ = false;
    return make_head(status, content_type, std::nullopt, Body::kUntilClose);
}

base::Result<void> HttpResponse::write_parts(std::string_view a, std::span<const uint8_t> b, std::string_view c) {
    iovec parts[3];
    size_t count = 0;
    size_t bytes = 0;
    auto add = [&](const void* data, size_t size) {
        if (size) parts[count++] = {const_cast<void*>(data), size};
        bytes += size;
    };
    add(a.data(), a.size());
    add(b.data(), b.size());
    add(c.data(), c.size());
    TRY(transport_.stream->writev(std::span(parts, count), runtime::Deadline::in_ms(options_.write_timeout_ms)));
    transport_.sent_bytes += bytes;
    return {};
}

bool HttpResponse::make_script(int& status, std::string_view& content_type) {
    if (function_.empty() || content_type != kJson || status == 401) return false;
    header("X-Content-Type-Options", "nosniff");
    content_type = "text/javascript; charset=utf-8";
    status = 200;
    return true;
}

base::Result<void> HttpResponse::send(int status, std::string_view content_type, std::string_view body) {
    CHECK(!started_);
    std::string script, redacted;
    if (hides_secrets_ && content_type == kJson && base::has_secrets(body)) body = redacted = base::redact(body);
    if (make_script(status, content_type)) body = script = script_begin(function_).append(body).append(kScriptEnd);
    started_ = true;
    std::string head = make_head(status, content_type, body.size(), Body::kLength);
    bool without_body = request_.is_head() || has_no_body(status);
    if (without_body) body = {};
    count(body.size());
    TRY(write_parts(head, bytes_of(body), {}), "sending the response");
    complete_ = true;
    return {};
}

base::Result<void> HttpResponse::send_files(int status, std::string_view content_type, FileParts parts) {
    CHECK(!started_ && !has_no_body(status));
    started_ = true;
    framing_ = Body::kLength;
    for (const FilePart& part : parts) length_left_ += part.length;
    if (!std::exchange(transport_.no_delay, true)) transport_.stream->set_no_delay(true);
    const std::string head = make_head(status, content_type, length_left_, framing_);
    if (request_.is_head()) parts.clear();
    FileBody body(*transport_.stream, options_.write_timeout_ms, [this](size_t bytes) {
        count(bytes);
        length_left_ -= bytes;
        transport_.sent_bytes += bytes;
    });
    TRY(body.send(head, std::move(parts)), "sending a file");
    transport_.sent_bytes += head.size();
    return end();
}

base::Result<void> HttpResponse::send_head(int status, std::string_view content_type) {
    CHECK(!started_ && request_.is_head());
    started_ = true;
    TRY(write_parts(head(status, content_type), {}, {}));
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
    if (has_no_body(status)) length = 0;
    if (length) {
        framing_ = Body::kLength;
        length_left_ = *length;
    } else if (request_.message.minor_version >= 1) {
        framing_ = Body::kChunked;
    } else {
        framing_ = Body::kUntilClose;
        keep_alive_ = false;
    }
    // Otherwise the last of several writes would wait for an acknowledgement that is delayed by 40 ms.
    if (!std::exchange(transport_.no_delay, true)) transport_.stream->set_no_delay(true);
    std::string head = make_head(status, content_type, length, framing_);
    TRY(write_parts(head, {}, {}));
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
    if (framing_ == Body::kChunked) return write_parts(http::chunk_prefix(bytes.size()), bytes, http::kChunkSuffix);
    if (framing_ == Body::kLength) {
        CHECK(bytes.size() <= length_left_);
        length_left_ -= bytes.size();
    }
    return write_parts({}, bytes, {});
}

base::Result<void> HttpResponse::write(std::string_view text) { return write(bytes_of(text)); }

base::Result<void> HttpResponse::end() {
    if (!started_ || complete_) return {};
    TRY(write(std::exchange(script_end_, {})));
    if (request_.is_head()) {
        complete_ = true;
        return {};
    }
    if (framing_ == Body::kLength && length_left_ > 0)
        return base::fail(base::Code::kOther, fmt::format("the response is {} bytes short", length_left_));
    if (framing_ == Body::kChunked) TRY(write_parts(http::kLastChunk, {}, {}), "ending the response");
    complete_ = true;
    return {};
}

base::Result<void> HttpResponse::defer(std::unique_ptr<Deferred> deferred, int64_t limit_ms) {
    CHECK(!started_);
    auto share = TRY(transport_.deferred->take(request_.peer_ip, 0));
    deferral_ = std::make_unique<Deferral>(Deferral{std::move(deferred), std::move(share), limit_ms});
    started_ = true;
    return {};
}

HttpResponse::Detached HttpResponse::detach() {
    CHECK(!started_ && !detached_);
    detached_ = started_ = true;
    const Session::Past past = transport_.session->past();
    transport_.session.reset();
    if (std::exchange(transport_.no_delay, false)) transport_.stream->set_no_delay(false);
    return {std::move(transport_.stream), std::move(transport_.unread), past};
}

}  // namespace net
