#include "net/http/http_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "protocol/http/response_parser.h"
#include "runtime/socket/tcp.h"
#include "runtime/threads/workers.h"

namespace net {

using base::Code;
using base::Result;
using runtime::ByteStream;
using runtime::Deadline;
using ResponseStep = http::ResponseParser::Step;

namespace {

// A cached file of trusted certificates is read again after this many others.
constexpr size_t kMaxContexts = 64;

std::string pool_key(const HttpCall& call, const http::AbsoluteUrl& url) {
    return fmt::format("{}\n{}\n{}\n{}", url.tls ? "https" : "http", url.host, url.port, call.ca_file);
}

bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

// One request and its answer on one connection.
struct HttpClient::Exchange {
    Exchange(const HttpCall& what, Deadline until)
        : call(what),
          deadline(until),
          parser({.header_bytes = what.max_head_bytes}, what.method == http::Method::kHead) {}

    Result<void> run(ByteStream& stream, std::string_view head) {
        iovec parts[2] = {{const_cast<char*>(head.data()), head.size()},
                          {const_cast<char*>(call.body.data()), call.body.size()}};
        TRY(stream.writev(std::span(parts, call.body.empty() ? 1 : 2), deadline), "sending the request");
        while (!done) {
            auto bytes = TRY(runtime::read_shared(stream, deadline), "waiting for the answer");
            if (bytes.empty()) return end_of_stream();
            any = true;
            TRY(take(bytes));
        }
        return {};
    }

    Result<void> end_of_stream() {
        if (!any) return base::fail(Code::kClosed, "closed without an answer");
        if (parser.finish() != ResponseStep::kMessage) return base::fail(Code::kClosed, parser.error_text());
        done = true;
        return {};
    }

    Result<void> take(std::span<const uint8_t> bytes) {
        while (!done) {
            size_t used = 0;
            ResponseStep step = parser.feed(bytes, used);
            bytes = bytes.subspan(used);
            switch (step) {
                case ResponseStep::kNeedMore:
                    return {};
                case ResponseStep::kError:
                    return base::fail(Code::kProtocol, "the answer: " + parser.error_text());
                case ResponseStep::kHead:
                    TRY(take_head());
                    break;
                case ResponseStep::kBody:
                    TRY(take_body());
                    break;
                case ResponseStep::kMessage:
                    done = true;
                    reusable = parser.response().keep_alive && bytes.empty() && answer.status != 101;
                    break;
            }
        }
        return {};
    }

    Result<void> take_head() {
        answer.status = parser.response().status;
        answer.headers = parser.response().headers;
        return {};
    }

    Result<void> take_body() {
        std::string_view piece(reinterpret_cast<const char*>(parser.data().data()), parser.data().size());
        if (answer.body.size() + piece.size() > call.max_body_bytes) {
            if (!call.cut_body)
                return base::fail(Code::kLimit, fmt::format("the answer exceeds {} bytes", call.max_body_bytes));
            piece = piece.substr(0, call.max_body_bytes - answer.body.size());
            answer.cut = done = true;
        }
        answer.body += piece;
        return {};
    }

    const HttpCall& call;
    Deadline deadline;
    http::ResponseParser parser;
    HttpAnswer answer;
    bool any = false;       // a byte of the answer has arrived
    bool done = false;      // the answer is complete
    bool reusable = false;  // and the connection may serve another request
};

HttpClient::HttpClient(Options options) : options_(std::move(options)) {}

HttpClient::~HttpClient() {
    if (sweeper_) sweeper_.cancel_and_join();
}

Result<HttpAnswer> HttpClient::call(HttpCall call, Deadline deadline) {
    auto url = TRY(http::parse_absolute_url(call.url));
    while (true) {
        auto answer = call_once(call, url, deadline);
        if (!answer) return std::unexpected(std::move(answer.error()).with(url.authority));
        std::string_view location = answer->headers.get("Location");
        if (call.redirects-- <= 0 || !is_redirect(answer->status) || location.empty()) return answer;
        const std::string before = url.authority;
        call.url = location.starts_with('/') && !location.starts_with("//")
                       ? fmt::format("{}://{}{}", url.tls ? "https" : "http", url.authority, location)
                       : std::string(location);
        url = TRY(http::parse_absolute_url(call.url), "redirected");
        if (url.authority != before) call.headers.clear();  // headers for one host are not sent to another
        if (answer->status != 307 && answer->status != 308 && call.method != http::Method::kHead) {
            call.method = http::Method::kGet;
            call.body.clear();
        }
    }
}

Result<std::string> HttpClient::post_json(const std::string& url, const std::string& body, Deadline deadline,
                                          const std::string& authorization) {
    HttpCall request;
    request.url = url;
    request.headers.add("Content-Type", "application/json");
    if (!authorization.empty()) request.headers.add("Authorization", authorization);
    request.body = body;
    HttpAnswer answer = TRY(call(std::move(request), deadline));
    if (!http::is_ok_or_created(answer.status))
        return base::fail(base::Code::kRefused, fmt::format("the answer's status is {}", answer.status));
    return std::move(answer.body);
}

Result<HttpAnswer> HttpClient::call_once(const HttpCall& call, const http::AbsoluteUrl& url, Deadline deadline) {
    const std::string head = head_of(call, url);
    const std::string key = pool_key(call, url);
    while (true) {
        auto stream = take_idle(key);
        const bool kept = stream != nullptr;
        if (!kept) stream = TRY(open(call, url, deadline));
        Exchange exchange(call, deadline);
        auto done = exchange.run(*stream, head);
        if (done) {
            if (exchange.reusable) keep(key, std::move(stream));
            return std::move(exchange.answer);
        }
        if (!kept || exchange.any || done.error().code() != Code::kClosed)
            return std::unexpected(std::move(done.error()));
    }
}

std::string HttpClient::head_of(const HttpCall& call, const http::AbsoluteUrl& url) const {
    std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\nConnection: keep-alive\r\n",
                                   http::method_name(call.method), url.target, url.authority, options_.user_agent);
    if (!call.body.empty() || call.method == http::Method::kPost)
        head += fmt::format("Content-Length: {}\r\n", call.body.size());
    for (const auto& [name, value] : call.headers) {
        std::string line = name + ": " + value;
        std::ranges::replace_if(
            line, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
        head += line + "\r\n";
    }
    return head + "\r\n";
}

Result<std::unique_ptr<ByteStream>> HttpClient::open(const HttpCall& call, const http::AbsoluteUrl& url,
                                                     Deadline deadline) {
    if (call.connect) return call.connect();
    std::shared_ptr<runtime::TlsContext> tls;
    if (url.tls) tls = TRY(tls_context(call.ca_file, deadline));
    auto stream = TRY(runtime::connect_tcp(url.host, url.port, deadline));
    stream->set_no_delay(true);
    if (!tls) return stream;
    return runtime::tls_connect(std::move(stream), std::move(tls), url.host, deadline);
}

// Runs on a worker, because the certificates are read from files.
Result<std::shared_ptr<runtime::TlsContext>> HttpClient::tls_context(const std::string& ca_file, Deadline deadline) {
    auto known = contexts_.find(ca_file);
    if (known != contexts_.end()) return known->second;
    auto made = std::make_shared<Result<std::shared_ptr<runtime::TlsContext>>>();
    TRY(runtime::offload([made, ca_file] { *made = runtime::tls_client_context(true, ca_file); }, deadline));
    auto context = TRY(std::move(*made));
    if (contexts_.size() >= kMaxContexts) contexts_.clear();
    contexts_[ca_file] = context;
    return context;
}

// Null: there is no usable one.
std::unique_ptr<ByteStream> HttpClient::take_idle(std::string_view key) {
    for (size_t i = idle_.size(); i-- > 0;) {
        if (idle_[i].key != key) continue;
        auto stream = std::move(idle_[i].stream);
        idle_.erase(idle_.begin() + static_cast<ptrdiff_t>(i));
        uint8_t byte;
        auto unasked = stream->try_read({&byte, 1});
        if (!stream->peer_gone() && unasked && unasked->bytes == 0 && !unasked->end) return stream;
    }
    return nullptr;
}

void HttpClient::keep(std::string key, std::unique_ptr<ByteStream> stream) {
    auto same = [&](const Idle& idle) { return idle.key == key; };
    if (std::ranges::count_if(idle_, same) >= static_cast<ptrdiff_t>(options_.idle_per_host)) return;
    if (idle_.size() >= options_.idle_connections) idle_.pop_front();
    idle_.push_back({std::move(key), std::move(stream), base::monotonic_ms() + options_.idle_ms});
    if (sweeper_ && !sweeper_.done()) return;
    sweeper_ = runtime::spawn("http-idle", [this] {
        while (!idle_.empty()) {
            if (!runtime::sleep_ms(std::max<int64_t>(1, idle_.front().until_ms - base::monotonic_ms()))) return;
            drop_expired();
        }
    });
}

void HttpClient::drop_expired() {
    int64_t now = base::monotonic_ms();
    while (!idle_.empty() && idle_.front().until_ms <= now) idle_.pop_front();
}

}  // namespace net
