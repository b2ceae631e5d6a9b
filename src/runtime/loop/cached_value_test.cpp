#include "runtime/loop/cached_value.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/loop/testing.h"

namespace runtime {
namespace {

class CachedValueTest : public runtime::testing::RuntimeTest {};

constexpr int64_t kPatienceMs = 5'000;

TEST_F(CachedValueTest, OneCallerMakesItForAllThatCome) {
    CachedValue<int> cached("a number", 60'000, kPatienceMs);
    int made = 0, right = 0;
    const auto make = [&]() -> base::Result<int> {
        ++made;
        TRY(sleep_ms(20));
        return 7;
    };
    std::vector<Task> callers;
    for (int i = 0; i < 5; ++i)
        callers.push_back(spawn("caller", [&] {
            const auto value = cached.get(make);
            if (value && **value == 7) ++right;
        }));
    for (Task& caller : callers) ASSERT_TRUE(testing::ok(caller.join(Deadline::in_ms(kPatienceMs))));
    EXPECT_EQ(made, 1);
    EXPECT_EQ(right, 5);
}

TEST_F(CachedValueTest, ItIsMadeAnewWhenItIsNotFresh) {
    CachedValue<int> cached("a number", 0, kPatienceMs);
    int made = 0;
    const auto make = [&]() -> base::Result<int> { return ++made; };
    const auto first = cached.get(make), second = cached.get(make);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(**first, 1) << "as it was, though it is made anew";
    EXPECT_EQ(**second, 2);
}

TEST_F(CachedValueTest, AnErrorIsThatOfItsCallerAlone) {
    CachedValue<int> cached("a number", 60'000, kPatienceMs);
    bool works = false;
    const auto make = [&]() -> base::Result<int> {
        TRY(sleep_ms(20));
        if (!std::exchange(works, true)) return base::fail(base::Code::kOther, "not yet");
        return 1;
    };
    bool other = false;
    Task second = spawn("caller", [&] { other = sleep_ms(5).has_value() && cached.get(make).has_value(); });
    EXPECT_FALSE(cached.get(make).has_value());
    ASSERT_TRUE(testing::ok(second.join(Deadline::in_ms(kPatienceMs))));
    EXPECT_TRUE(other) << "it waits, and makes the value itself";
}

TEST_F(CachedValueTest, ItIsDroppedByItsAge) {
    CachedValue<int> cached("a number", 60'000, kPatienceMs);
    int made = 0;
    const auto make = [&]() -> base::Result<int> { return ++made; };
    const std::weak_ptr<const int> value = *cached.get(make);
    cached.drop_older_than(60'000);
    EXPECT_FALSE(value.expired());
    cached.drop_older_than(-1);
    EXPECT_TRUE(value.expired());
}

}  // namespace
}  // namespace runtime
