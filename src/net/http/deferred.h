#pragma once
// Deferred: a request whose answer comes later. A handler passes one to HttpResponse::defer() and returns; the request
// then waits without a coroutine until its owner answers it, its client leaves, its time is over, or the server ends.
// In each case it is destroyed, which takes it out of the list that it waits in. The answer is a PreparedAnswer, which
// every transport can send (waiting_request.h: HTTP/1.1).
//
//     struct Reload final : net::Deferred { ... };
//     auto reload = std::make_unique<Reload>(...);
//     waiting_.add(*reload);
//     return response.defer(std::move(reload), 3'000);
//     ...
//     waker_.answer(waiting_, std::make_shared<net::PreparedAnswer>(200, kType, net::AnswerFields{...}, text));

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/loop/coroutine.h"

namespace net {

using AnswerFields = std::vector<std::pair<std::string, std::string>>;

// A whole answer in memory, for any number of requests.
class PreparedAnswer {
  public:
    // fields: beside those of every response.
    PreparedAnswer(int status, std::string content_type, AnswerFields fields, std::string body)
        : status_(status), content_type_(std::move(content_type)), fields_(std::move(fields)), body_(std::move(body)) {}

    int status() const { return status_; }
    const std::string& content_type() const { return content_type_; }
    const AnswerFields& fields() const { return fields_; }
    const std::string& body() const { return body_; }

    // For a transport: what it made of the answer for a request, which is mostly right for the next one.
    struct Memo {
        int64_t key = -1;
        std::string text{};
    };
    Memo& memo() const { return memo_; }

  private:
    int status_;
    std::string content_type_;
    AnswerFields fields_;
    std::string body_;
    mutable Memo memo_;
};
using AnswerPtr = std::shared_ptr<const PreparedAnswer>;

class Deferred;

// The connection or stream of a request that waits; owns its Deferred.
class DeferredTransport {
  public:
    // Never yields. Null: the request's late_answer().
    virtual void answer(AnswerPtr answer) = 0;

  protected:
    ~DeferredTransport() = default;
};

class DeferredLink {
  public:
    DeferredLink() = default;
    DeferredLink(const DeferredLink&) = delete;

  protected:
    ~DeferredLink() { unlink(); }
    bool is_linked() const { return next_ != this; }
    void unlink();
    void insert_before(DeferredLink& other);

  private:
    friend class DeferredList;
    DeferredLink* previous_ = this;
    DeferredLink* next_ = this;
};

class Deferred : public DeferredLink {
  public:
    // The request is over, whatever the reason.
    virtual ~Deferred() = default;
    // To be called once, after defer(). Takes it out of its list; it is destroyed soon, or at once. Never yields. Null:
    // its late_answer().
    void answer(AnswerPtr answer);
    // What it gets when its time is over or the server ends: 503, to be tried again in a second.
    virtual AnswerPtr late_answer() const;

    // For the transport that owns it.
    void set_transport(DeferredTransport& transport) { transport_ = &transport; }

  private:
    friend class DeferredList;
    DeferredTransport* transport_ = nullptr;
};

// Requests that wait for the same thing, in the order in which they came. Adding and removing one takes the same short
// time, however many there are.
class DeferredList {
  public:
    DeferredList() = default;
    DeferredList(const DeferredList&) = delete;
    // Those that still wait get their late_answer().
    ~DeferredList();

    // It must not be in a list.
    void add(Deferred& request) { request.insert_before(head_); }
    bool empty() const { return !head_.is_linked(); }
    // Null: there is none.
    Deferred* first();
    // All of the other list, behind those that are here.
    void take_all(DeferredList& other);

  private:
    struct Head : DeferredLink {
        using DeferredLink::is_linked;
    };
    Head head_;
};

// Answers thousands of requests without making one iteration of the loop long: by a coroutine that yields to others
// after each fraction of a millisecond, and that exists while there is something to do.
class DeferredWaker {
  public:
    // For each request its answer; null: its late_answer(). Called from the waker's coroutine; must not yield.
    using Choose = std::function<AnswerPtr(Deferred&)>;

    DeferredWaker() = default;
    DeferredWaker(const DeferredWaker&) = delete;
    ~DeferredWaker() { stop(); }  // yields

    // Takes all that wait now. Never yields.
    void answer(DeferredList& waiting, Choose choose);
    void answer(DeferredList& waiting, AnswerPtr answer);
    // Those that were not reached yet get their late_answer(). Yields.
    void stop();

  private:
    struct Batch {
        DeferredList requests{};
        Choose choose;
    };
    void run();

    std::list<Batch> batches_;
    runtime::Task task_;
};

}  // namespace net
