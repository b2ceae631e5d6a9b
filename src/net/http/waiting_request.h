#pragma once
// WaitingRequest: what an HTTP/1.1 connection keeps of a request that was deferred (deferred.h) until its answer has
// been sent: it has no coroutine. The answer is written as far as the connection takes it, and the rest when that is
// writable again.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/admission/address_quota.h"
#include "net/http/deferred.h"
#include "runtime/loop/timers.h"
#include "runtime/socket/byte_stream.h"

namespace net {

struct HttpResponseOptions;
struct HttpRoute;

class WaitingRequest final : private DeferredTransport, private runtime::Timer {
  public:
    class User {
      public:
        // The answer is there: send() is to be called as soon as that is possible. May destroy this request.
        virtual void on_answer() = 0;
        // The client accepts no more of it. May destroy this request.
        virtual void on_write_timeout() = 0;

      protected:
        ~User() = default;
    };
    struct Details {
        std::unique_ptr<Deferred> deferred{};
        AddressQuota::Share share{};
        int64_t limit_ms = 0;
        const HttpRoute* route = nullptr;
        bool is_head = false;
        bool keep_alive = false;
        bool crossdomain = false;
        const HttpResponseOptions* options = nullptr;  // must outlive it
        std::function<void(size_t bytes)> observer{};  // of its body; may be null
    };

    // user: must outlive it.
    WaitingRequest(User& user, Details details);

    bool is_answered() const { return answer_ != nullptr; }
    // If it is not answered yet.
    void answer_late();
    const HttpRoute* route() const { return details_.route; }
    // The connection serves no request after it. To be called before the answer is there.
    void close_after() { details_.keep_alive = false; }
    bool keep_alive() const { return details_.keep_alive; }
    int64_t began_ms() const { return began_ms_; }
    int status() const { return answer_->status(); }
    uint64_t body_bytes() const { return body_bytes_; }
    // Sends what the stream takes now, and adds it to sent_bytes. True: it has all. Never yields.
    base::Result<bool> send(runtime::ByteStream& stream, uint64_t& sent_bytes);

  private:
    void answer(AnswerPtr answer) override;
    void on_due() override;
    const std::string& shared_head() const;

    User& user_;
    Details details_;
    AnswerPtr answer_;
    bool begun_ = false;
    std::string head_;  // while some is left to send
    size_t sent_ = 0;   // of head and body
    uint64_t body_bytes_ = 0;
    const int64_t began_ms_;
};

}  // namespace net
