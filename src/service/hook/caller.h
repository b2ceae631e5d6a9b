#pragma once
// Caller: sends one HTTP request to the URL of a hook and interprets the response. It limits the number of concurrent
// calls per host, signs the request, applies the timeout and counts the result. It runs in the coroutine that calls it.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/snapshot.h"
#include "net/http/http_client.h"
#include "runtime/loop/log_limit.h"
#include "runtime/loop/permits.h"
#include "service/hook/answer.h"
#include "service/hook/config.h"
#include "service/hook/stats.h"

namespace service::hook {

struct Call {
    Hook hook;
    std::string url;
    std::string body;  // JSON; empty: GET (on_hls_notify)
};

class Caller {
  public:
    static constexpr size_t kMaxConcurrent = 64;  // per host and port
    static constexpr size_t kMaxAnswerBytes = 64 * 1024;

    explicit Caller(HookStats& stats) : stats_(stats) {}

    // Errors: kRefused: the response refuses the client. kCancelled: the coroutine was cancelled. Any other error:
    // there was no valid response. The error texts name the hook but not its URL, because they are sent to clients; the
    // URL is logged. sent: set when the request may have reached the server; not set while the call waits for a permit.
    base::Result<Answer> call(const Call& call, const VhostConfig& hooks, bool* sent = nullptr);

  private:
    base::Result<Answer> exchange(const Call& call, const VhostConfig& hooks, runtime::Deadline deadline, bool* sent);
    std::shared_ptr<runtime::Permits> permits(const std::string& url);

    HookStats& stats_;
    runtime::LogLimit failure_log_;
    net::HttpClient client_;
    std::map<std::string, std::shared_ptr<runtime::Permits>> permits_;  // by host and port
};

// "t=1700000000,v1=<hex>": HMAC-SHA256 with the secret over "t.body".
std::string signature(std::string_view secret, std::string_view body, int64_t unix_seconds);
// The URL without its query, which may hold secrets.
std::string_view for_log(std::string_view url);
// The part common to all calls of one host and port: "http://host:port".
std::string target_of(std::string_view url);

}  // namespace service::hook
