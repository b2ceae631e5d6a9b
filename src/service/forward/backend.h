#pragma once
// The forward backend: an HTTP server that says where a stream goes. Question and answer are pure text here; the asking
// is a coroutine's own, so that a backend which is slow, down or talks nonsense holds up nobody: the stream is
// published all the same, and the backend asked again, with growing pauses, until it has answered.

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
#include "runtime/loop/deadline.h"
#include "runtime/loop/sync.h"

namespace service::forward {

inline constexpr size_t kMaxAnswerBytes = 64 * 1024;
inline constexpr size_t kMaxDestinations = 32;  // of one stream

// The body that is posted: on_publish's fields with the action on_forward.
std::string backend_question(std::string_view server_id, std::string_view service_id, const live::StreamKey& key,
                             const live::PublisherFacts& publisher);
// {"code": 0, "data": {"urls": ["rtmp://..."]}}; no urls, or null, are none. An error says what is wrong with it.
base::Result<std::vector<std::string>> read_backend_answer(std::string_view body);

// Posts JSON; the answer's body where its status is 200, and an error otherwise. Yields.
using Post =
    std::function<base::Result<std::string>(const std::string& url, const std::string& body, runtime::Deadline)>;

class BackendUser {
  public:
    virtual void backend_answered(live::Stream& stream, const std::vector<std::string>& destinations) = 0;

  protected:
    ~BackendUser() = default;
};

// Asks until there is an answer or cancel(). Its coroutine holds it.
class BackendQuery {
  public:
    // Not more than so many questions at a time, of all streams together: the others wait for their turn.
    static constexpr size_t kMaxAtOnce = 16;
    // What those of one service share. It outlives their coroutines: wait for `running`.
    struct Limiter {
        Post post;
        size_t asking = 0;
        runtime::Event free{"a forward backend"};
        runtime::Gate running;
        uint64_t questions = 0;
        uint64_t failures = 0;
    };

    // user lives until cancel().
    static std::shared_ptr<BackendQuery> begin(BackendUser& user, Limiter& limiter, base::Ref<live::Stream> stream,
                                               std::string url, std::string question);
    BackendQuery(BackendUser& user, Limiter& limiter, base::Ref<live::Stream> stream, std::string url,
                 std::string question);
    BackendQuery(const BackendQuery&) = delete;

    // The user hears no more of it. Does not yield.
    void cancel();

    const live::Stream* stream() const { return stream_.get(); }
    const std::string& url() const { return url_; }
    const std::string& problem() const { return last_error_; }  // empty: there is none

  private:
    void run();
    base::Result<std::vector<std::string>> ask();

    BackendUser* user_;
    Limiter& query_limiter_;
    base::Ref<live::Stream> stream_;
    std::string url_;
    std::string question_;
    std::string last_error_;  // what the log was told last of what does not work
    runtime::Task task_;
};

}  // namespace service::forward
