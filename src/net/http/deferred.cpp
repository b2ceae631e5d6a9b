#include "net/http/deferred.h"

#include "base/result.h"
#include "runtime/loop/cpu_slice.h"

namespace net {

void DeferredLink::unlink() {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
}

void DeferredLink::insert_before(DeferredLink& other) {
    CHECK(!is_linked());
    previous_ = other.previous_;
    next_ = &other;
    previous_->next_ = this;
    other.previous_ = this;
}

void Deferred::answer(AnswerPtr answer) {
    CHECK(transport_ != nullptr);
    unlink();
    std::exchange(transport_, nullptr)->answer(std::move(answer));
}

AnswerPtr Deferred::late_answer() const {
    return std::make_shared<PreparedAnswer>(503, "text/plain; charset=utf-8",
                                            AnswerFields{{"Retry-After", "1"}, {"Cache-Control", "no-store"}},
                                            "503 Service Unavailable\n");
}

DeferredList::~DeferredList() {
    while (Deferred* request = first()) request->answer(nullptr);
}

Deferred* DeferredList::first() { return empty() ? nullptr : static_cast<Deferred*>(head_.next_); }

void DeferredList::take_all(DeferredList& other) {
    if (other.empty()) return;
    DeferredLink &first = *other.head_.next_, &last = *other.head_.previous_;
    other.head_.previous_ = other.head_.next_ = &other.head_;
    first.previous_ = head_.previous_;
    first.previous_->next_ = &first;
    last.next_ = &head_;
    head_.previous_ = &last;
}

void DeferredWaker::answer(DeferredList& waiting, Choose choose) {
    if (waiting.empty()) return;
    Batch& batch = batches_.emplace_back();
    batch.choose = std::move(choose);
    batch.requests.take_all(waiting);
    if (!task_ || task_.done()) task_ = runtime::spawn("http-wake", [this] { run(); });
    // Without memory for a coroutine they are told to ask again.
    if (!task_) batches_.clear();
}

void DeferredWaker::answer(DeferredList& waiting, AnswerPtr answer) {
    this->answer(waiting, [answer = std::move(answer)](Deferred&) { return answer; });
}

void DeferredWaker::stop() {
    if (task_) task_.cancel_and_join();
    batches_.clear();
}

void DeferredWaker::run() {
    runtime::CpuSlice slice;
    while (!batches_.empty()) {
        Batch& batch = batches_.front();
        while (Deferred* request = batch.requests.first()) {
            request->answer(batch.choose(*request));
            if (!slice.step()) return;
        }
        batches_.pop_front();
    }
}

}  // namespace net
