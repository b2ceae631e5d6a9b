#pragma once
// One HTTP request and its response, as handlers see them. A handler runs in the connection's coroutine: long
// operations yield, and nothing here may be used after the handler has returned.

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
#include "net/admission/address_quota.h"
#include "net/http/deferred.h"
#include "net/http/file_body.h"
#include "net/sessions/session.h"
#include "protocol/http/message.h"
#include "runtime/socket/byte_stream.h"

namespace net {

class OpenedFiles;
struct HttpRoute;

// Of a request that is passed on: whether who asks may see secrets, and the names of customers.
inline constexpr std::string_view kSeesSecrets = "X-Sees-Secrets", kSeesRecords = "X-Sees-Records";

struct HttpRequest {
    http::Request message;
    std::string peer_ip;  // the client's address: reported by a trusted proxy, or the connection's
    bool tls = false;
    // Passed on by the server's other process, which has checked who asks.
    bool is_of_other_process = false;
    std::string session_id;  // as in log lines; a viewer that detaches the stream keeps it
    // The values of the route's {name} and *.
    std::vector<std::pair<std::string, std::string>> captures;

    std::string_view capture(std::string_view name) const;
    // "http://example.com:8080", from the Host that the client sent; from `host` if it sent none.
    std::string base_url(std::string_view host) const;
    bool is_head() const { return message.method == http::Method::kHead; }
};

struct HttpResponseOptions {
    std::string server_name = "SRS";
    bool crossdomain = true;            // Access-Control-Allow-Origin: *
    int64_t write_timeout_ms = 30'000;  // for each write
    // The body of send_error() instead of a text page: JSON, made from the status and the text.
    std::function<std::string(int status, std::string_view text)> json_error{};
};

// What all transports have in common; each implements the private functions (http1_response.h).
class HttpResponse {
  public:
    HttpResponse(const HttpResponse&) = delete;

    // The connection or stream, for a handler that waits on the client's behalf (runtime::EndWatch); null once it was
    // detached.
    virtual runtime::ByteStream* client() const = 0;

    // Adds a field to those of every response. Only before anything was sent.
    HttpResponse& header(std::string_view name, std::string_view value);
    // Omits the fields that let web pages of other origins read it, whatever the options say.
    HttpResponse& same_origin_only() {
        crossdomain_ = false;
        return *this;
    }
    // JSON that is sent from now on has no secrets of clients and of the configuration in it (base/redaction.h).
    // begin() and write() leave that to the caller.
    HttpResponse& without_secrets() {
        hides_secrets_ = true;
        return *this;
    }
    bool hides_secrets() const { return hides_secrets_; }
    // A whole answer of success, in JSON, is sent as what this makes of it. It may yield. For begin() and write() see
    // without_secrets().
    using Rewrite = std::function<base::Result<std::string>(std::string_view json)>;
    void rewrite_json(Rewrite rewrite) { rewrite_ = std::move(rewrite); }
    bool rewrites_json() const { return static_cast<bool>(rewrite_); }
    // JSON is sent as a script that calls that function with it (JSONP). The status becomes 200, because browsers do
    // not run scripts of error responses, except 401, which asks for credentials. Only before anything was sent.
    void as_script(std::string_view function) { function_ = function; }
    // The connection will not serve another request, where it serves one after another.
    void close_after() { keep_alive_ = false; }

    // The whole response. For HEAD only its head is sent.
    base::Result<void> send(int status, std::string_view content_type, std::string_view body);
    // The whole response, with a body that lies in files; not for as_script(). Fails if a file is shorter by now.
    base::Result<void> send_files(int status, std::string_view content_type, FileParts parts);
    // Only a head, in response to HEAD, for content without a known length.
    base::Result<void> send_head(int status, std::string_view content_type);
    // A small text page; text is for people.
    base::Result<void> send_error(int status, std::string_view text = {});
    base::Result<void> redirect(int status, std::string_view location);

    // Streaming: begin, any number of writes, end. A response shorter than its length breaks off, which the client
    // notices.
    base::Result<void> begin(int status, std::string_view content_type, std::optional<uint64_t> length);
    base::Result<void> write(std::span<const uint8_t> bytes);
    base::Result<void> write(std::string_view text);
    base::Result<void> end();

    // The answer comes later (deferred.h): within limit_ms, or the request's late_answer() is sent. Nothing may have
    // been sent; fields that were set, and as_script(), do not apply to it. The handler must return at once after it.
    // kLimit: too many wait; the request is destroyed, and the error is the handler's.
    base::Result<void> defer(std::unique_ptr<Deferred> deferred, int64_t limit_ms);
    // For a handler that waits in its coroutine: its part of what may wait. kLimit.
    base::Result<AddressQuota::Share> reserve_wait() { return server_.deferred.take(request_.peer_ip, 0); }
    struct Deferral {
        std::unique_ptr<Deferred> deferred{};
        AddressQuota::Share share{};
        int64_t limit_ms = 0;
        const HttpRoute* route = nullptr;  // set by the dispatcher
    };
    // For the connection; null: it was not deferred.
    Deferral* deferral() const { return deferral_.get(); }

    // Detaches the body, for a viewer: it is what is written to the stream, after `first`, until that is closed. Its
    // session's id becomes free. Nothing may have been sent. The handler must return at once after it.
    struct Detached {
        std::unique_ptr<runtime::ByteStream> stream;
        std::string first;           // to be written before anything else
        std::vector<uint8_t> early;  // what the peer has sent after the request
        Session::Past past;
    };
    base::Result<Detached> detach(int status, std::string_view content_type);
    // The same for another protocol, of which `first` is the caller's: HTTP/1.1 alone can change it.
    virtual base::Result<Detached> upgrade() = 0;
    std::string date() const;  // of now
    const HttpResponseOptions& options() const { return options_; }

    OpenedFiles& opened_files() const { return server_.opened_files; }
    // The client has closed, or half-closed, as far as the kernel knows now: for handlers that take long.
    bool peer_gone() const {
        const runtime::ByteStream* peer = client();
        return !peer || peer->peer_gone();
    }
    bool started() const { return started_; }
    bool detached() const { return detached_; }
    // The whole announced response was sent.
    bool complete() const { return complete_; }
    bool keep_alive() const { return keep_alive_; }
    int status() const { return status_; }
    uint64_t body_bytes() const { return body_bytes_; }
    // Called for each piece of a body as it is passed to the connection, before the client's answer to it can be seen;
    // if the transfer breaks off, at most one piece too much was counted. Keeps accounts right while a long file is
    // being sent.
    using BodyObserver = std::function<void(size_t bytes)>;
    void observe_body(BodyObserver observer) { observer_ = std::move(observer); }
    BodyObserver take_observer() { return std::move(observer_); }
    bool crossdomain() const { return options_.crossdomain && crossdomain_; }

  protected:
    // Of the server, which outlives it.
    struct Server {
        OpenedFiles& opened_files;
        AddressQuota& deferred;  // requests that wait without a coroutine
    };
    HttpResponse(const Server& server, const HttpRequest& request, const HttpResponseOptions& options, bool keep_alive)
        : server_(server), request_(request), options_(options), keep_alive_(keep_alive) {}
    ~HttpResponse() = default;

    const HttpRequest& request() const { return request_; }
    // By another way than detach(). Nothing may have been sent.
    void mark_detached();
    const http::Headers& headers() const { return headers_; }
    // The head has no length where the body's is not known; of a status that has_no_body() there is neither.
    struct Head {
        int status;
        std::string_view content_type;
        std::optional<uint64_t> length;
    };

  private:
    virtual base::Result<void> put_whole(const Head& head, std::span<const uint8_t> body) = 0;
    // sent: to be called with the bytes of the body that the connection has taken.
    virtual base::Result<void> put_files(const Head& head, FileParts parts, std::function<void(size_t)> sent) = 0;
    virtual base::Result<void> put_head(const Head& head) = 0;
    virtual base::Result<void> put_body(std::span<const uint8_t> bytes) = 0;
    // Of a body without a length.
    virtual base::Result<void> put_end() = 0;
    virtual base::Result<Detached> put_detached(const Head& head) = 0;

    void count(size_t bytes);
    // Changes status and content type for as_script(); false if it does not apply.
    bool make_script(int& status, std::string_view& content_type);

    const Server server_;
    const HttpRequest& request_;
    const HttpResponseOptions& options_;
    bool keep_alive_;
    bool crossdomain_ = true;
    bool hides_secrets_ = false;
    bool started_ = false;
    bool complete_ = false;
    bool detached_ = false;
    Rewrite rewrite_;
    std::string function_;
    std::string script_end_;  // sent first by end()
    int status_ = 0;
    std::optional<uint64_t> length_left_;
    uint64_t body_bytes_ = 0;
    BodyObserver observer_;
    std::unique_ptr<Deferral> deferral_;
    http::Headers headers_;
};

}  // namespace net
