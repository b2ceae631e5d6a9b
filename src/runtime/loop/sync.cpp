#include "runtime/loop/sync.h"

#include "runtime/loop/coroutine_state.h"

namespace runtime {
namespace detail {

base::Result<void> check_cancelled() { return wake_result(current().cancelled ? Wake::kCancelled : Wake::kWoken); }

struct WaitNode {
    Coroutine* coroutine;
    WaitNode* previous = nullptr;
    WaitNode* next = nullptr;
    bool woken = false;
};

WaitList::~WaitList() { CHECK(empty()); }

// Not inlined: the compiler would warn that the node's address outlives it, which wait_as() prevents.
__attribute__((noinline)) void WaitList::append(WaitNode& node) {
    node.previous = last_;
    (last_ ? last_->next : first_) = &node;
    last_ = &node;
}

void WaitList::remove(WaitNode& node) {
    (node.previous ? node.previous->next : first_) = node.next;
    (node.next ? node.next->previous : last_) = node.previous;
}

base::Result<void> WaitList::wait_as(Deadline deadline, const char* what, bool cancellable) {
    WaitNode node{&current()};
    append(node);
    while (!node.woken) {
        const Wake how = suspend(deadline, {what}, cancellable);
        // Woken and late, or woken and cancelled: it counts as woken, otherwise a wake_one() would be lost.
        if (node.woken) break;
        if (how == Wake::kWoken) continue;
        remove(node);
        return wake_result(how);
    }
    return {};
}

base::Result<void> WaitList::wait(Deadline deadline, const char* what) { return wait_as(deadline, what, true); }

void WaitList::wait_uncancelled() {
    auto waited = wait_as(Deadline::never(), "the end of a coroutine", false);
    CHECK(waited.has_value());
}

void WaitList::wake_one() {
    if (!first_) return;
    WaitNode& node = *first_;
    remove(node);
    node.woken = true;
    detail::wake(*node.coroutine);
}

void WaitList::wake_all() {
    while (first_) wake_one();
}

}  // namespace detail

base::Result<void> Event::wait(Deadline deadline) {
    TRY(detail::check_cancelled());
    while (!set_) {
        auto woken = waiters_.wait(deadline, what_);
        // Set, and late: it would have been woken by the waiter before it.
        if (!woken && !(set_ && woken.error().code() == base::Code::kTimeout)) return woken;
    }
    return {};
}

base::Result<void> WaitGroup::wait_empty(Deadline deadline) {
    TRY(detail::check_cancelled());
    while (inside_) TRY(waiters_.wait(deadline, "a gate to empty"));
    return {};
}

}  // namespace runtime
