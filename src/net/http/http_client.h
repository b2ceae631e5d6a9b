#pragma once
// HttpClient: requests that the server itself makes (hooks, heartbeat, forward's backend): HTTP/1.1 (RFC 9112) over TCP
// or TLS, with connections kept for the next request. One deadline covers all of a call: name resolution, connection,
// TLS, request and answer. TLS verifies the system's certificates or a file of them, and the host's name. A call runs
// in its caller's coroutine, and blocks no other.
//
// If a kept connection ends before any byte of the answer, the request is retried once on a new one: the other side had
// closed the connection meanwhile. No proxies, cookies, HTTP/2 or compression.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/http/message.h"
#include "protocol/http/url.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/deadline.h"
#include "runtime/socket/byte_stream.h"
#include "runtime/socket/tls.h"

namespace net {

struct HttpCall {
    http::Method method = http::Method::kPost;
    std::string url;        // "http://host[:port]/path?query", "https://..."
    http::Headers headers;  // in addition to Host, Content-Length, Connection and User-Agent
    std::string body;
    std::string ca_file;                // PEM; empty: the system's certificates
    size_t max_head_bytes = 16 * 1024;  // limit for the answer; more fails the call
    size_t max_body_bytes = 64 * 1024;
    bool cut_body = false;  // a longer answer is cut at the limit, which is not a failure
    // Instead of a connection to the URL's host, which then only says which kept connections will do. Does not yield.
    std::function<base::Result<std::unique_ptr<runtime::ByteStream>>()> connect{};
    int redirects = 0;  // followed at most; further ones are returned like any other answer
};

struct HttpAnswer {
    int status = 0;
    http::Headers headers;
    std::string body;
    bool cut = false;
};

class HttpClient {
  public:
    struct Options {
        std::string user_agent = "SRS";
        size_t idle_connections = 64;  // at most, all hosts together
        size_t idle_per_host = 8;      // at most, for one host and port
        int64_t idle_ms = 15'000;      // lifetime of an idle connection
    };
    HttpClient() : HttpClient(Options()) {}
    explicit HttpClient(Options options);
    ~HttpClient();  // no call may be in progress; yields
    HttpClient(const HttpClient&) = delete;

    // kTimeout, kClosed, kRefused (a certificate), kNotFound (a name), kProtocol (not HTTP), kLimit (too large),
    // kConfig (not a URL), kCancelled.
    base::Result<HttpAnswer> call(HttpCall call, runtime::Deadline deadline);
    // Posts JSON and returns the answer's body. authorization: the field, unless it is empty. Errors: those of call();
    // kRefused: its status is neither 200 nor 201.
    base::Result<std::string> post_json(const std::string& url, const std::string& body, runtime::Deadline deadline,
                                        const std::string& authorization = {});

    size_t idle_connections() const { return idle_.size(); }

  private:
    struct Idle {
        std::string key;  // scheme, host, port and the trusted certificates
        std::unique_ptr<runtime::ByteStream> stream;
        int64_t until_ms;
    };
    struct Exchange;

    base::Result<HttpAnswer> call_once(const HttpCall& call, const http::AbsoluteUrl& url, runtime::Deadline deadline);
    base::Result<std::unique_ptr<runtime::ByteStream>> open(const HttpCall& call, const http::AbsoluteUrl& url,
                                                            runtime::Deadline deadline);
    base::Result<std::shared_ptr<runtime::TlsContext>> tls_context(const std::string& ca_file,
                                                                   runtime::Deadline deadline);
    std::unique_ptr<runtime::ByteStream> take_idle(std::string_view key);
    void keep(std::string key, std::unique_ptr<runtime::ByteStream> stream);
    void drop_expired();
    std::string head_of(const HttpCall& call, const http::AbsoluteUrl& url) const;

    Options options_;
    std::deque<Idle> idle_;  // the oldest first
    std::map<std::string, std::shared_ptr<runtime::TlsContext>> contexts_;
    runtime::Task sweeper_;
};

}  // namespace net
