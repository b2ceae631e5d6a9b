#pragma once
// Caller: sends one HTTP request to the URL of a hook and interprets the response. It signs the request, applies the
// timeout and counts the result. It runs in the coroutine that calls it. Queries and reports have connections of their
// own, so that neither waits for the other; how many reports are under way is decided by the outbox.

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
#include "service/hook/breaker.h"
#include "service/hook/config.h"
#include "service/hook/stats.h"

namespace service::hook {

struct Call {
    Hook hook;
    std::string url;
    std::string body;         // JSON; empty: GET (on_hls_notify)
    std::string report_id{};  // of one report; empty: the call has none
};

// What became of a call with reports.
struct Delivery {
    bool delivered = false;     // accepted or refused: a refusal has no effect on what has happened
    bool is_answered = false;   // by the host itself, in whatever way: it is not down
    bool is_cancelled = false;  // the coroutine was
    std::string why{};          // it was not delivered
};

class Caller {
  public:
    static constexpr size_t kMaxQueries = 64;  // at once, per host and port
    static constexpr size_t kMaxAnswerBytes = 64 * 1024;

    explicit Caller(HookStats& stats) : stats_(stats) {}

    // Asks about a client. Errors: kRefused: the response refuses the client. kCancelled: the coroutine was cancelled.
    // Any other error: there was no valid response, or the host is down and another call finds out whether it still is.
    // The error texts name the hook but not its URL, because they are sent to clients; the URL is logged. sent: set
    // when the request may have reached the server; not set while the call waits for a permit.
    base::Result<Answer> ask(const Call& call, const VhostConfig& hooks, bool* sent = nullptr);
    // Tells what has happened, at once.
    Delivery report(const Call& call, const VhostConfig& hooks);

    // A host and port that is asked: "http://host:port".
    struct Host {
        runtime::Permits permits{kMaxQueries, "a permit for a hook"};
        Breaker breaker{};
        bool is_probed = false;  // while it is down: a call is in progress
    };
    const std::map<std::string, std::shared_ptr<Host>>& hosts() const { return hosts_; }

  private:
    struct Outcome {
        base::Result<Answer> answer;
        bool is_answered = false;
        // Why it is no acceptance; for the log and the API.
        std::string why() const { return answer ? answer->why : answer.error().text(); }
    };
    std::shared_ptr<Host> host_of(const std::string& url);
    Outcome exchange(net::HttpClient& client, const Call& call, const VhostConfig& hooks, runtime::Deadline deadline);
    base::Result<Answer> evaluate(const Call& call, const VhostConfig& hooks, base::Result<Answer> answer);

    HookStats& stats_;
    runtime::LogLimit failure_log_;
    net::HttpClient queries_;
    net::HttpClient reports_{{.idle_connections = 256, .idle_per_host = 64}};
    std::map<std::string, std::shared_ptr<Host>> hosts_;
};

// "t=1700000000,v1=<hex>": HMAC-SHA256 with the secret over "t.body".
std::string signature(std::string_view secret, std::string_view body, int64_t unix_seconds);
// The URL without its query, which may hold secrets.
std::string_view for_log(std::string_view url);
// The part common to all calls of one host and port: "http://host:port".
std::string target_of(std::string_view url);

}  // namespace service::hook
