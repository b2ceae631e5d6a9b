#pragma once
// CoroutinePool: runs works that come often and are mostly done without yielding. One coroutine then does them one
// after another, on a stack that is in the processor's cache. When one of them yields, another coroutine takes the
// rest.

#include <deque>
#include <string>
#include <vector>

#include "base/ref.h"
#include "runtime/loop/coroutine.h"

namespace runtime {

class Work {
  public:
    Work() = default;
    Work(const Work&) = delete;

  protected:
    ~Work() = default;  // it must not be queued

  private:
    friend class CoroutinePool;
    // Runs in a coroutine of the pool. May yield, give itself again, and destroy this object. The task may be cancelled
    // until it returns; after that the coroutine ends.
    virtual void work(const Task& task) = 0;

    bool queued_ = false;
};

class CoroutinePool {
  public:
    // name: of its coroutines.
    explicit CoroutinePool(std::string name);
    // Nothing may be queued nor run. Yields until its coroutines have ended.
    ~CoroutinePool();  // nothing may be queued; yields
    CoroutinePool(const CoroutinePool&) = delete;

    // It is run soon, once, however often it was given before that. Never yields. False: without memory for a
    // coroutine it stays queued until one is free, or more is given.
    bool give(Work& work);
    // It is not queued any more.
    void take_back(Work& work);

  private:
    static constexpr size_t kIdleKept = 16;     // coroutines, with their stacks
    static constexpr int64_t kSpareMs = 2'000;  // further ones are kept for so long: works that yield come in bursts

    // Somebody is on the way to the queue. False: there is no memory for a coroutine.
    bool call();
    void run();

    const std::string name_;
    std::deque<Work*> queue_;
    std::vector<base::Ref<detail::Coroutine>> idle_;  // the last one has the warmest stack
    base::Ref<detail::Coroutine> called_;             // it was woken or started, and has not looked at the queue yet
};

}  // namespace runtime
