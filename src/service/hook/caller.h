#pragma once
// Caller: one call of one hook's URL: at most so many at once to one host, signed, within its time, counted. In the
// coroutine of whoever calls.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/snapshot.h"
#include "net/hook_stats.h"
#include "net/http/http_client.h"
#include "runtime/loop/permits.h"
#include "service/hook/verdict.h"

namespace service::hook {

struct Call {
    net::Hook hook;
    std::string url;
    std::string body;  // JSON; empty: GET (on_hls_notify)
};

class Caller {
  public:
    static constexpr size_t kMaxAtOnce = 64;  // to one host and port
    static constexpr size_t kMaxAnswerBytes = 64 * 1024;

    explicit Caller(net::HookStats& stats) : stats_(stats) {}

    // kRefused: answered, and not accepted. kCancelled. Anything else: no answer that can be understood. The texts name
    // the hook, and not its URL, for they are told to clients; the log has the URL.
    // asked: set once the request may have reached the other side; not while the call waits for its turn.
    base::Result<void> call(const Call& call, const config::VhostHttpHooks& hooks, bool* asked = nullptr);

  private:
    base::Result<Verdict> exchange(const Call& call, const config::VhostHttpHooks& hooks, runtime::Deadline deadline,
                                   bool* asked);
    std::shared_ptr<runtime::Permits> permits(const std::string& url);

    net::HookStats& stats_;
    net::HttpClient client_;
    std::map<std::string, std::shared_ptr<runtime::Permits>> permits_;  // by host and port
};

// "t=1700000000,v1=<hex>": HMAC-SHA256 by the secret over "t.body".
std::string signature(std::string_view secret, std::string_view body, int64_t unix_seconds);
// The URL without its query, which may hold secrets.
std::string_view for_log(std::string_view url);
// What calls to one host and port have in common: "http://host:port".
std::string target_of(std::string_view url);

}  // namespace service::hook
