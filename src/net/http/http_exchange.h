#pragma once
// One HTTP request and its response, as handlers see them. They run in the connection's coroutine: what takes a while
// yields, and nothing here may be used after the handler returned.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "net/sessions/session.h"
#include "protocol/http/message.h"
#include "runtime/socket/byte_stream.h"

namespace net {

struct HttpRequest {
    http::Request message;
    std::string peer_ip;  // the client's: where a trusted proxy says so, not the connection's
    bool tls = false;
    std::string session_id;  // as in log lines; a viewer that takes the stream away keeps it
    // What the route's {name} and * stood for.
    std::vector<std::pair<std::string, std::string>> captures;

    std::string_view capture(std::string_view name) const;
    // "http://example.com:8080", as the client named us; of `host` where it did not.
    std::string base_url(std::string_view host) const;
    bool is_head() const { return message.method == http::Method::kHead; }
};

// What belongs to a connection, and what a response may take away from it.
struct HttpTransport {
    bool no_delay = false;  // of the stream
    std::unique_ptr<runtime::ByteStream> stream;
    std::unique_ptr<Session> session;
    std::vector<uint8_t> unread;  // bytes behind the request under way: pipelined requests, WebSocket frames
    uint64_t received_bytes = 0;
    uint64_t sent_bytes = 0;
};

struct HttpResponseOptions {
    std::string server_name = "SRS";
    bool crossdomain = true;            // Access-Control-Allow-Origin: *
    int64_t write_timeout_ms = 30'000;  // for each write
    // What send_error() sends instead of a text page: JSON, made of the status and the text.
    std::function<std::string(int status, std::string_view text)> json_error{};
};

class HttpResponse {
  public:
    HttpResponse(HttpTransport& transport, const HttpRequest& request, const HttpResponseOptions& options,
                 bool keep_alive);

    // The connection, for who waits on the client's behalf (runtime::EndWatch); null once it was detached.
    runtime::ByteStream* client() const { return transport_.stream.get(); }

    // A field beside those that every response has. Before anything was sent.
    HttpResponse& header(std::string_view name, std::string_view value);
    // Without the fields that let web pages of other origins read it, whatever the options say.
    HttpResponse& same_origin_only() {
        crossdomain_ = false;
        return *this;
    }
    // JSON that is sent goes out as a script that calls that function with it (JSONP); with status 200 where it was
    // another, for browsers run no script of an error's, but for 401, which asks for credentials. Before anything was
    // sent.
    void as_script(std::string_view function) { function_ = function; }
    // The connection will not serve another request.
    void close_after() { keep_alive_ = false; }

    // The whole response. HEAD gets its head only.
    base::Result<void> send(int status, std::string_view content_type, std::string_view body);
    // A head alone, to HEAD, for what has no length.
    base::Result<void> send_head(int status, std::string_view content_type);
    // A small text page; text is for people.
    base::Result<void> send_error(int status, std::string_view text = {});
    base::Result<void> redirect(int status, std::string_view location);

    // In pieces: begin, write as often as you like, end. Without a length it is chunked (HTTP/1.0: until the connection
    // closes). A response of a known length that comes out shorter breaks the connection.
    base::Result<void> begin(int status, std::string_view content_type, std::optional<uint64_t> length);
    base::Result<void> write(std::span<const uint8_t> bytes);
    base::Result<void> write(std::string_view text);
    base::Result<void> end();

    // Takes the connection away, for a viewer: its stream, and what the peer has sent beyond the request. Its session's
    // id is free then. Nothing was sent yet: the taker sends head() or its own. The handler returns at once after it.
    struct Detached {
        std::unique_ptr<runtime::ByteStream> stream;
        std::vector<uint8_t> early;
        Session::Past past;
    };
    Detached detach();
    // A head as send() would write it, without length and with "Connection: close": what follows ends with the
    // connection.
    std::string head(int status, std::string_view content_type);
    std::string date() const;  // of now
    const HttpResponseOptions& options() const { return options_; }

    // The client has closed, or half-closed, as far as the kernel knows now: for handlers that take long.
    bool peer_gone() const { return !transport_.stream || transport_.stream->peer_gone(); }
    bool started() const { return started_; }
    bool detached() const { return detached_; }
    // Everything that was promised was sent.
    bool complete() const { return complete_; }
    bool keep_alive() const { return keep_alive_; }
    int status() const { return status_; }
    uint64_t body_bytes() const { return body_bytes_; }
    // Told of each piece of a body as it goes to the connection, before the client can have it; of one that breaks off,
    // at most a piece too much. For accounts that are right while a long file is still on its way.
    using BodyObserver = std::function<void(size_t bytes)>;
    void observe_body(BodyObserver observer) { observer_ = std::move(observer); }

  private:
    enum class Body : uint8_t { kNone, kLength, kChunked, kUntilClose };
    std::string make_head(int status, std::string_view content_type, std::optional<uint64_t> length, Body framing);
    void count(size_t bytes);
    base::Result<void> write_parts(std::string_view a, std::span<const uint8_t> b, std::string_view c);

    HttpTransport& transport_;
    const HttpRequest& request_;
    const HttpResponseOptions& options_;
    bool keep_alive_;
    bool crossdomain_ = true;
    bool started_ = false;
    bool complete_ = false;
    bool detached_ = false;
    Body framing_ = Body::kNone;
    // The head of what as_script() makes of it.
    bool make_script(int& status, std::string_view& content_type);

    std::string function_;
    std::string script_end_;  // what end() sends first
    int status_ = 0;
    uint64_t length_left_ = 0;
    uint64_t body_bytes_ = 0;
    BodyObserver observer_;
    http::Headers headers_;
};

}  // namespace net
