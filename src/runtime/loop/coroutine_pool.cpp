#include "runtime/loop/coroutine_pool.h"

#include <algorithm>

#include "runtime/loop/coroutine_state.h"

namespace runtime {

CoroutinePool::CoroutinePool(std::string name) : name_(std::move(name)) {}

CoroutinePool::~CoroutinePool() {
    CHECK(queue_.empty());
    auto ending = std::move(idle_);
    if (called_) ending.push_back(called_);
    for (const auto& coroutine : ending) Task(coroutine).cancel_and_join();
}

bool CoroutinePool::give(Work& work) {
    if (!work.queued_) {
        work.queued_ = true;
        queue_.push_back(&work);
    }
    return call();
}

void CoroutinePool::take_back(Work& work) {
    if (!work.queued_) return;
    work.queued_ = false;
    std::erase(queue_, &work);
}

bool CoroutinePool::call() {
    if (called_) return true;
    if (idle_.empty()) {
        called_ = detail::start_coroutine(
            name_, [this] { run(); }, SpawnOptions().stack_bytes);
        return static_cast<bool>(called_);
    }
    called_ = std::move(idle_.back());
    idle_.pop_back();
    detail::wake(*called_);
    return true;
}

void CoroutinePool::run() {
    const base::Ref<detail::Coroutine> me(&detail::current());
    const Task task(me);
    while (!me->cancelled) {
        called_.reset();
        while (!queue_.empty() && !me->cancelled) {
            Work& next = *queue_.front();
            queue_.pop_front();
            next.queued_ = false;
            // The rest does not wait when this one yields.
            if (!queue_.empty()) call();
            next.work(task);
        }
        if (me->cancelled) break;
        me->context_id.clear();  // of the last work
        idle_.push_back(me);
        const auto until = idle_.size() > kIdleKept ? Deadline::in_ms(kSpareMs) : Deadline::never();
        const bool late = detail::suspend(until, {"work"}) == detail::Wake::kTimeout;
        // It may have been called at that very moment.
        if (late && std::erase_if(idle_, [&me](const auto& one) { return one.get() == me.get(); }) > 0) break;
    }
    if (!queue_.empty()) call();
}

}  // namespace runtime
