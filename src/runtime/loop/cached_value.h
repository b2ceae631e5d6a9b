#pragma once
// CachedValue: a value that takes time to make, for many callers: one of them makes it, those that come meanwhile wait
// for it, and for a while it is given to others as it is.

#include <cstdint>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "runtime/loop/sync.h"

namespace runtime {

template <class T>
class CachedValue {
  public:
    using Ptr = std::shared_ptr<const T>;

    // what: see Event. fresh_ms: how long it is given to others. patience_ms: how long a caller waits for another one.
    CachedValue(const char* what, int64_t fresh_ms, int64_t patience_ms)
        : made_(what), fresh_ms_(fresh_ms), patience_ms_(patience_ms) {}

    // make() returns base::Result<T>, and may yield. An error of it is that of its caller alone: the next one tries
    // again. Yields.
    template <class Make>
    base::Result<Ptr> get(const Make& make) {
        const Deadline patience = Deadline::in_ms(patience_ms_);
        while (making_) TRY(made_.wait_next(patience));
        if (value_ && base::monotonic_ms() - made_ms_ < fresh_ms_) return value_;
        making_ = true;
        base::Result<T> made = make();
        making_ = false;
        made_.pulse();
        value_ = std::make_shared<const T>(TRY(std::move(made)));
        made_ms_ = base::monotonic_ms();
        return value_;
    }
    // Frees a value that was made so long ago.
    void drop_older_than(int64_t ms) {
        if (base::monotonic_ms() - made_ms_ > ms) value_.reset();
    }

  private:
    Event made_;
    const int64_t fresh_ms_;
    const int64_t patience_ms_;
    Ptr value_;
    int64_t made_ms_ = 0;
    bool making_ = false;
};

}  // namespace runtime
