#include "service/forward/backend.h"

#include "base/json.h"
#include "base/log.h"
#include "net/sessions/account.h"
#include "runtime/loop/backoff.h"
#include "runtime/loop/limited_log.h"
#include "service/forward/target.h"

namespace service::forward {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kAnswerMs = 5'000;

// Occupies a slot of the limiter.
class Slot {
  public:
    explicit Slot(BackendQuery::Limiter& limiter) : query_limiter_(limiter) { ++query_limiter_.in_progress; }
    Slot(const Slot&) = delete;
    ~Slot() {
        --query_limiter_.in_progress;
        query_limiter_.free.pulse();
    }

  private:
    BackendQuery::Limiter& query_limiter_;
};

}  // namespace

std::string backend_request(std::string_view server_id, std::string_view service_id, const live::StreamKey& key,
                            const live::PublisherFacts& publisher) {
    base::OrderedJson body;
    body["server_id"] = server_id;
    body["service_id"] = service_id;
    body["action"] = "on_forward";
    body["client_id"] = publisher.session_id;
    body["ip"] = publisher.ip;
    body["vhost"] = key.vhost;
    body["app"] = key.app;
    body["tcUrl"] = publisher.tc_url;
    body["stream"] = key.name;
    body["param"] = publisher.params;
    body["stream_url"] = net::stream_url(key);
    body["stream_id"] = net::stream_id(key);
    return base::to_text(body);
}

Result<std::vector<std::string>> read_backend_answer(std::string_view body) {
    auto bad = [](std::string_view why) {
        return fail(Code::kProtocol, fmt::format("the answer {}, where {{\"code\": 0, \"data\": {{\"urls\": [...]}}}} "
                                                 "was expected",
                                                 why));
    };
    if (body.size() > kMaxAnswerBytes) return bad("is too long");
    base::Json answer = base::parse_json(body);
    if (!answer.is_object()) return bad("is no JSON object");
    auto code = answer.find("code");
    if (code == answer.end() || !code->is_number_integer()) return bad("has no integer code");
    if (*code != 0) return bad(fmt::format("has the code {}", code->get<int64_t>()));
    std::vector<std::string> urls;
    auto data = answer.find("data");
    if (data == answer.end() || data->is_null()) return urls;
    if (!data->is_object()) return bad("has a data that is no object");
    auto list = data->find("urls");
    if (list == data->end() || list->is_null()) return urls;
    if (!list->is_array()) return bad("has urls that are no list");
    if (list->size() > kMaxDestinations) return bad(fmt::format("has {} urls, too many", list->size()));
    for (const base::Json& url : *list) {
        if (!url.is_string()) return bad("has a url that is no text");
        urls.push_back(url.get<std::string>());
    }
    return urls;
}

BackendQuery::BackendQuery(BackendUser& user, Limiter& limiter, base::Ref<live::Stream> stream, std::string url,
                           std::string body)
    : user_(&user), query_limiter_(limiter), stream_(std::move(stream)), url_(std::move(url)), body_(std::move(body)) {}

std::shared_ptr<BackendQuery> BackendQuery::begin(BackendUser& user, Limiter& limiter, base::Ref<live::Stream> stream,
                                                  std::string url, std::string body) {
    auto query = std::make_shared<BackendQuery>(user, limiter, std::move(stream), std::move(url), std::move(body));
    query->task_ = runtime::spawn("forward-backend", [query] { query->run(); });
    return query;
}

void BackendQuery::cancel() {
    user_ = nullptr;
    task_.cancel();
}

void BackendQuery::run() {
    auto member = query_limiter_.running.enter();
    runtime::set_context_id(runtime::new_context_id());
    runtime::Backoff backoff(1'000, 30'000);
    while (user_) {
        auto urls = ask();
        if (!user_) return;
        if (urls) {
            if (error_.clear()) base::log::trace("forward: the backend answers again for {}", stream_->key().text());
            return user_->backend_answered(*stream_, *urls);
        }
        if (urls.error().code() == Code::kCancelled) return;
        ++query_limiter_.failures;
        if (error_.update(urls.error().text()))
            runtime::warn_limited("forward: the backend of {} ({}): {}; it is asked again", stream_->key().text(),
                                  url_.substr(0, url_.find('?')), error_.text());
        if (!runtime::sleep_ms(runtime::varied_ms(backoff.next_ms()))) return;
    }
}

Result<std::vector<std::string>> BackendQuery::ask() {
    while (query_limiter_.in_progress >= kMaxAtOnce) TRY(query_limiter_.free.wait_next(Deadline::never()));
    Slot slot(query_limiter_);
    ++query_limiter_.requests;
    auto answer = TRY(query_limiter_.post(url_, body_, Deadline::in_ms(kAnswerMs)));
    return read_backend_answer(answer);
}

}  // namespace service::forward
