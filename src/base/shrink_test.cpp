#include "base/shrink.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace base {
namespace {

TEST(Shrink, GivesBackWhatIsNotUsed) {
    std::vector<std::unique_ptr<int>> numbers;
    numbers.reserve(100);
    numbers.push_back(std::make_unique<int>(7));
    shrink(numbers);
    EXPECT_EQ(numbers.capacity(), 1u);
    EXPECT_EQ(*numbers.at(0), 7);
    numbers.clear();
    shrink(numbers);
    EXPECT_EQ(numbers.capacity(), 0u);
}

}  // namespace
}  // namespace base
