#include "service/hook/caller.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/access/hmac.h"
#include "runtime/loop/clock.h"
#include "service/hook/config.h"

namespace service::hook {

using base::Code;
using base::Result;
using runtime::Deadline;

namespace {

// Limit on entries of hosts_; hosts with calls in progress may exceed it.
constexpr size_t kMaxHosts = 256;

// Adds a call and its duration to the counters of its hook.
class CallCount {
  public:
    explicit CallCount(HookCounters& counters) : counters_(counters), began_us_(base::monotonic_us()) {
        ++counters_.calls;
        ++counters_.in_flight;
    }
    CallCount(const CallCount&) = delete;
    ~CallCount() {
        --counters_.in_flight;
        counters_.latency_us += static_cast<uint64_t>(base::monotonic_us() - began_us_);
    }

  private:
    HookCounters& counters_;
    int64_t began_us_;
};

}  // namespace

std::string signature(std::string_view secret, std::string_view body, int64_t unix_seconds) {
    std::string signed_text = fmt::format("{}.{}", unix_seconds, body);
    return fmt::format("t={},v1={}", unix_seconds, net::hmac_sha256_hex(secret, signed_text));
}

std::string_view for_log(std::string_view url) { return url.substr(0, url.find('?')); }

std::string target_of(std::string_view url) {
    size_t scheme = url.find("://");
    size_t end = scheme == url.npos ? 0 : url.find_first_of("/?#", scheme + 3);
    return std::string(url.substr(0, end));
}

std::shared_ptr<Caller::Host> Caller::host_of(const std::string& url) {
    auto& entry = hosts_[target_of(url)];
    if (!entry) entry = std::make_shared<Host>();
    auto found = entry;  // keeps the entry from being erased
    if (hosts_.size() > kMaxHosts) std::erase_if(hosts_, [](auto& one) { return one.second.use_count() == 1; });
    return found;
}

Result<Answer> Caller::ask(const Call& call, const VhostConfig& hooks, bool* sent) {
    const std::shared_ptr<Host> host = host_of(call.url);
    const Deadline deadline = Deadline::in_ms(hooks.timeout);
    const CallCount count(stats_.at(call.hook));
    const auto is_left_out = [&] { return host->breaker.is_open() && host->is_probed; };
    const auto left_out = [&] {
        ++stats_.not_asked;
        return base::fail(Code::kOther, fmt::format("{}: the hook server is down", hook_name(call.hook)));
    };
    if (is_left_out()) return left_out();
    auto permit = host->permits.enter(deadline);
    if (!permit) return evaluate(call, hooks, std::unexpected(std::move(permit.error())));
    if (is_left_out()) return left_out();  // meanwhile it is down
    const bool probes = host->breaker.is_open();
    host->is_probed |= probes;
    if (sent) *sent = true;
    Outcome outcome = exchange(queries_, call, hooks, deadline);
    if (probes) host->is_probed = false;
    const bool is_cancelled = !outcome.answer && outcome.answer.error().code() == Code::kCancelled;
    if (outcome.is_answered && host->breaker.succeeded(runtime::now_ms()))
        runtime::warn_some(failure_log_, "hook server {} answers queries again", target_of(call.url));
    if (!outcome.is_answered && !is_cancelled && host->breaker.failed(runtime::now_ms(), outcome.why()))
        runtime::warn_some(failure_log_,
                           "hook server {} is down: it is asked about one client at a time, on_failure decides about "
                           "the others",
                           target_of(call.url));
    return evaluate(call, hooks, std::move(outcome.answer));
}

Delivery Caller::report(const Call& call, const VhostConfig& hooks) {
    const CallCount count(stats_.at(call.hook));
    Outcome outcome = exchange(reports_, call, hooks, Deadline::in_ms(hooks.timeout));
    Delivery delivery{.is_answered = outcome.is_answered, .why = outcome.why()};
    const auto answer = evaluate(call, hooks, std::move(outcome.answer));
    delivery.delivered = answer || answer.error().code() == Code::kRefused;
    delivery.is_cancelled = !answer && answer.error().code() == Code::kCancelled;
    return delivery;
}

Result<Answer> Caller::evaluate(const Call& call, const VhostConfig& hooks, Result<Answer> answer) {
    HookCounters& counters = stats_.at(call.hook);
    const std::string_view name = hook_name(call.hook);
    if (!answer && answer.error().code() == Code::kCancelled) return answer;
    if (answer && answer->kind == Answer::Kind::kAccepted) return answer;
    if (answer && answer->kind == Answer::Kind::kRefused) {
        ++counters.refused;
        base::log::info("hook {} {}: refused, {}", name, for_log(call.url), answer->why);
        return base::fail(Code::kRefused, fmt::format("{}: {}", name, answer->why));
    }
    ++counters.failures;
    bool timed_out = !answer && answer.error().code() == Code::kTimeout;
    runtime::warn_some(failure_log_, "hook {} {} failed: {}", name, for_log(call.url),
                       timed_out ? fmt::format("no answer within {} ms", hooks.timeout)
                                 : (answer ? answer->why : answer.error().text()));
    return base::fail(timed_out ? Code::kTimeout : Code::kOther,
                      fmt::format("{}: {}", name, timed_out ? "no answer in time" : "no valid answer"));
}

Caller::Outcome Caller::exchange(net::HttpClient& client, const Call& call, const VhostConfig& hooks,
                                 Deadline deadline) {
    net::HttpCall request;
    request.url = call.url;
    request.ca_file = hooks.ca_file;
    request.max_body_bytes = kMaxAnswerBytes;
    if (call.hook == Hook::kOnHlsNotify) {
        request.method = http::Method::kGet;
        request.max_body_bytes = static_cast<size_t>(hooks.hls_nb_notify);
        request.cut_body = true;
    } else {
        request.body = call.body;
        request.headers.add("Content-Type", "application/json");
    }
    if (!call.report_id.empty()) request.headers.add("X-SRS-Report-Id", call.report_id);
    if (!hooks.secret.empty())
        request.headers.add("X-SRS-Signature", signature(hooks.secret, request.body, base::wall_ms() / 1000));
    auto response = client.call(std::move(request), deadline);
    if (!response) {
        const bool is_too_large = response.error().code() == Code::kLimit;
        return {std::unexpected(std::move(response.error())), is_too_large};
    }
    // A gateway says by these that the server behind it is away.
    const bool is_answered = response->status < 502 || response->status > 504;
    // This hook fills a cache: the content of the response is no answer.
    if (call.hook == Hook::kOnHlsNotify)
        return {Answer{response->status < 400 ? Answer::Kind::kAccepted : Answer::Kind::kRefused,
                       response->status < 400 ? "" : fmt::format("status {}", response->status)},
                is_answered};
    return {interpret(response->status, response->body), is_answered};
}

}  // namespace service::hook
