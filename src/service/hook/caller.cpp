#include "service/hook/caller.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/access/hmac.h"
#include "service/hook/config.h"

namespace service::hook {

using base::Code;
using base::Result;
using runtime::Deadline;

namespace {

// Limit on entries of permits_; hosts with calls in progress may exceed it.
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

std::shared_ptr<runtime::Permits> Caller::permits(const std::string& url) {
    auto& entry = permits_[target_of(url)];
    if (!entry) entry = std::make_shared<runtime::Permits>(kMaxConcurrent, "a permit for a hook");
    auto found = entry;  // keeps the entry from being erased
    if (permits_.size() > kMaxHosts) std::erase_if(permits_, [](auto& entry) { return entry.second.use_count() == 1; });
    return found;
}

Result<Answer> Caller::call(const Call& call, const VhostConfig& hooks, bool* sent) {
    HookCounters& counters = stats_.at(call.hook);
    std::string_view name = hook_name(call.hook);
    Result<Answer> answer = Answer{};
    {
        const CallCount count(counters);
        answer = exchange(call, hooks, Deadline::in_ms(hooks.timeout), sent);
    }
    if (!answer && answer.error().code() == Code::kCancelled) return std::unexpected(std::move(answer.error()));
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

Result<Answer> Caller::exchange(const Call& call, const VhostConfig& hooks, Deadline deadline, bool* sent) {
    auto permits_of_host = permits(call.url);
    auto permit = TRY(permits_of_host->enter(deadline));
    if (sent) *sent = true;
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
    if (!hooks.secret.empty())
        request.headers.add("X-SRS-Signature", signature(hooks.secret, request.body, base::wall_ms() / 1000));
    auto response = TRY(client_.call(std::move(request), deadline));
    // This hook fills a cache: the content of the response is no answer.
    if (call.hook == Hook::kOnHlsNotify)
        return Answer{response.status < 400 ? Answer::Kind::kAccepted : Answer::Kind::kRefused,
                      response.status < 400 ? "" : fmt::format("status {}", response.status)};
    return interpret(response.status, response.body);
}

}  // namespace service::hook
