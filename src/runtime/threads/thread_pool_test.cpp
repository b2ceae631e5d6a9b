#include "runtime/threads/thread_pool.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "runtime/loop/services.h"
#include "runtime/loop/testing.h"
#include "runtime/threads/compute.h"
#include "runtime/threads/workers.h"

namespace runtime::detail {
namespace {

using runtime::testing::failed_with;
using runtime::testing::ok;

class ThreadPoolTest : public runtime::testing::RuntimeTest {
  protected:
    using Call = std::move_only_function<void()>;
    static std::unique_ptr<ThreadJob> job(Call work, Call done, bool is_long = false) {
        auto made = std::make_unique<ThreadJob>();
        made->work = std::move(work);
        made->done = std::move(done);
        made->is_long = is_long;
        return made;
    }
};

// While it lives no thread can be started: a thread's stack would exceed the address space.
class NoThreads {
  public:
    NoThreads() {
        pthread_getattr_default_np(&before_);
        pthread_attr_t huge;
        pthread_attr_init(&huge);
        pthread_attr_setstacksize(&huge, size_t{1} << 47);
        pthread_setattr_default_np(&huge);
        pthread_attr_destroy(&huge);
    }
    ~NoThreads() {
        pthread_setattr_default_np(&before_);
        pthread_attr_destroy(&before_);
    }
    NoThreads(const NoThreads&) = delete;

  private:
    pthread_attr_t before_;
};

TEST_F(ThreadPoolTest, EachJobIsTold) {
    ThreadPool pool("test", 3);
    ASSERT_TRUE(ok(pool.start()));
    std::atomic<int> ran = 0, long_ones = 0, most = 0;
    int told = 0;
    for (int i = 0; i < 500; ++i) {
        pool.submit(job([&] { ++ran; }, [&] { ++told; }));
        if (i % 10 != 0) continue;
        const auto work = [&] {
            most = std::max<int>(most, ++long_ones);
            usleep(100);
            --long_ones;
        };
        pool.submit(job(
            work, [&] { ++told; }, true));
        if (i % 100 == 0) {
            ASSERT_TRUE(ok(sleep_ms(1)));
        }
    }
    for (int i = 0; i < 3000 && told < 550; ++i) ASSERT_TRUE(ok(sleep_ms(10)));
    EXPECT_EQ(told, 550);
    EXPECT_EQ(ran, 500);
    EXPECT_EQ(most, 1);
}

// A file is opened, then written, then closed: each job is submitted by the previous one's `done`.
TEST_F(ThreadPoolTest, WhatIsAskedForWhileItStopsIsDoneToo) {
    ThreadPool pool("test", 2);
    ASSERT_TRUE(ok(pool.start()));
    std::vector<int> told;
    const auto last = [&] { pool.submit(job([] {}, [&] { told.push_back(4); }, true)); };
    const auto third = [&] {
        told.push_back(3);
        last();
    };
    const auto second = [&] {
        told.push_back(2);
        pool.defer(third);
    };
    const auto first = [&] {
        told.push_back(1);
        pool.submit(job([] {}, second));
    };
    pool.submit(job([] { usleep(20'000); }, first));
    pool.stop();
    EXPECT_EQ(told, (std::vector{1, 2, 3, 4}));
}

TEST_F(ThreadPoolTest, StopsWhenItGoes) {
    bool told = false;
    {
        ThreadPool pool("test", 2);
        ASSERT_TRUE(ok(pool.start()));
        pool.submit(job([] {}, [&] { told = true; }));
    }
    EXPECT_TRUE(told);
    const ThreadPool never_started("test", 2);
}

TEST_F(ThreadPoolTest, WithoutThreadsItIsAnErrorAndNotTheEnd) {
    stop_services();
    {
        const NoThreads none;
        ThreadPool pool("test", 2);
        EXPECT_TRUE(failed_with(pool.start(), base::Code::kSystem));
        EXPECT_TRUE(failed_with(offload([] {}, Deadline::in_ms(5000)), base::Code::kSystem));
        EXPECT_FALSE(compute([] {}, [] { ADD_FAILURE() << "done was called for a rejected job"; }));
        EXPECT_EQ(computing(), 0u);
    }
    EXPECT_TRUE(ok(offload([] {}, Deadline::in_ms(5000))));
    EXPECT_EQ(offloaded(), 0u);
    bool told = false;
    EXPECT_TRUE(compute([] {}, [&] { told = true; }));
    stop_services();
    EXPECT_TRUE(told);
}

}  // namespace
}  // namespace runtime::detail
