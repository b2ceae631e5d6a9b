#pragma once
// The forward backend: an HTTP server that says where a stream is forwarded to. Request and answer are pure text here.
// Each query runs in its own coroutine, so that a backend that is slow, down or invalid delays nothing else: the stream
// is published anyway, and the backend is asked again, at growing intervals, until it has answered.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "base/result.h"
#include "live/hub/stream.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/current_error.h"
#include "runtime/loop/deadline.h"
#include "runtime/loop/sync.h"

namespace service::forward {

inline constexpr size_t kMaxAnswerBytes = 64 * 1024;
inline constexpr size_t kMaxDestinations = 32;  // per stream

// The request body: on_publish's fields with the action on_forward.
std::string backend_request(std::string_view server_id, std::string_view service_id, const live::StreamKey& key,
                            const live::PublisherFacts& publisher);
// Parses {"code": 0, "data": {"urls": ["rtmp://..."]}}; missing urls, or null, are an empty list. The error says what
// is wrong.
base::Result<std::vector<std::string>> read_backend_answer(std::string_view body);

// Posts JSON; returns the answer's body if its status is 200, and an error otherwise. Yields.
using Post =
    std::function<base::Result<std::string>(const std::string& url, const std::string& body, runtime::Deadline)>;

class BackendUser {
  public:
    virtual void backend_answered(live::Stream& stream, const std::vector<std::string>& destinations) = 0;

  protected:
    ~BackendUser() = default;
};

// Asks the backend until it has answered or cancel() is called. Its coroutine holds a reference to it.
class BackendQuery {
  public:
    // Maximum number of concurrent queries, of all streams together; others wait.
    static constexpr size_t kMaxAtOnce = 16;
    // State shared by the queries of one service. It must outlive their coroutines: wait for `running`.
    struct Limiter {
        Post post;
        size_t in_progress = 0;
        runtime::Event free{"a forward backend"};
        runtime::WaitGroup running;
        uint64_t requests = 0;
        uint64_t failures = 0;
    };

    // user must live until cancel().
    static std::shared_ptr<BackendQuery> begin(BackendUser& user, Limiter& limiter, base::Ref<live::Stream> stream,
                                               std::string url, std::string body);
    BackendQuery(BackendUser& user, Limiter& limiter, base::Ref<live::Stream> stream, std::string url,
                 std::string body);
    BackendQuery(const BackendQuery&) = delete;

    // The user is not called any more. Does not yield.
    void cancel();

    const live::Stream* stream() const { return stream_.get(); }
    const std::string& url() const { return url_; }
    const std::string& problem() const { return error_.text(); }  // empty: none

  private:
    void run();
    base::Result<std::vector<std::string>> ask();

    BackendUser* user_;
    Limiter& query_limiter_;
    base::Ref<live::Stream> stream_;
    std::string url_;
    std::string body_;
    runtime::CurrentError error_;
    runtime::Task task_;
};

}  // namespace service::forward
