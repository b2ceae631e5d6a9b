#pragma once
// For tests that need the event loop: a fixture under which the test body is the first coroutine. Links with
// gtest_main; the loop is started once per process.

#include <gtest/gtest.h>

#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"

namespace runtime::testing {

inline void start_loop_once() {
    static const bool started = [] {
        auto result = init();
        if (!result) ADD_FAILURE() << result.error().describe();
        return result.has_value();
    }();
    ASSERT_TRUE(started);
}

class RuntimeTest : public ::testing::Test {
  protected:
    void SetUp() override { start_loop_once(); }
};

// So long a time passes in the coroutine that runs, as by work.
inline void work_us(int64_t us) {
    const int64_t began_us = now_us();
    while (now_us() < began_us + us) continue;
}

// EXPECT_TRUE(ok(call(...))) prints the error's text.
template <class T>
::testing::AssertionResult ok(const base::Result<T>& result) {
    if (result) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << result.error().describe();
}

template <class T>
::testing::AssertionResult failed_with(const base::Result<T>& result, base::Code code) {
    if (result) return ::testing::AssertionFailure() << "no error, expected " << base::code_name(code);
    if (result.error().code() == code) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << result.error().describe() << ", expected " << base::code_name(code);
}

}  // namespace runtime::testing
