#pragma once
// WatchedThread: a thread that does the loop's work. The watchdog looks at it as it does at the loop: whether one piece
// of its work takes stall_warn or longer. A CPU profile has its samples.

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

namespace runtime {

struct ThreadStalls {
    uint64_t count = 0;
    int64_t total_ms = 0;
    int64_t longest_ms = 0;
};

namespace detail {

struct SampleBuffer;

class WatchedThread {
  public:
    explicit WatchedThread(std::string name) : name_(std::move(name)) {}
    WatchedThread(const WatchedThread&) = delete;

    const std::string& name() const { return name_; }
    // Called on the watchdog's thread.
    virtual bool works() const = 0;
    virtual uint64_t finished() const = 0;  // grows with each piece of work that it has finished

    // On the thread itself, when it begins. From then on it takes the signal that samples its stack.
    void begin_on_thread();
    // For the kernel.
    pid_t identity() const { return id_.load(std::memory_order_acquire); }  // 0: it has not begun
    // On the loop.
    ThreadStalls stalls() const { return stalls_; }
    void count_stall(int64_t ms);

    // Where the signal handler writes samples; null: no profile is recorded. Set by the loop.
    std::atomic<SampleBuffer*> samples = nullptr;
    std::atomic<bool> is_sampling = false;  // the handler runs

  protected:
    ~WatchedThread() = default;

  private:
    const std::string name_;
    std::atomic<pid_t> id_ = 0;
    ThreadStalls stalls_;
};

// From now on it is looked at, until it is unwatched: before it ends. On the loop.
void watch_thread(WatchedThread& thread);
void unwatch_thread(WatchedThread& thread);
// On the loop: all that are watched.
std::span<WatchedThread* const> watched_threads();
// The calling thread; null: it is the loop's.
WatchedThread* this_watched_thread();

// Processor time, and the time that it was runnable but waited for a processor (-1: not known), of a thread of this
// process, in microseconds.
struct ThreadTimes {
    int64_t cpu_us = 0;
    int64_t queued_us = -1;
};
ThreadTimes thread_times(pid_t id);

}  // namespace detail
}  // namespace runtime
