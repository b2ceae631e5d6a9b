#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace base {
namespace {

Result<int> half(int n) {
    if (n % 2) return fail(Code::kProtocol, fmt::format("{} is odd", n));
    return n / 2;
}
Result<int> quarter(int n) { return TRY(half(TRY(half(n), "the first half")), "the second half"); }
Result<void> nothing(int n) {
    TRY(half(n));
    return {};
}
Result<std::unique_ptr<int>> move_only() { return std::make_unique<int>(3); }
Result<int> use_move_only() {
    std::unique_ptr<int> p = TRY(move_only());
    return *p;
}

TEST(Result, TryPassesValuesAndErrorsUp) {
    EXPECT_EQ(*quarter(8), 2);
    EXPECT_EQ(quarter(7).error().text(), "the first half: 7 is odd");
    EXPECT_EQ(quarter(6).error().text(), "the second half: 3 is odd");
    EXPECT_EQ(quarter(6).error().code(), Code::kProtocol);
    EXPECT_TRUE(nothing(2));
    EXPECT_FALSE(nothing(1));
    EXPECT_EQ(*use_move_only(), 3);
}

TEST(Result, ErrorSaysWhereItArose) {
    std::string text = quarter(7).error().describe();
    EXPECT_TRUE(text.starts_with("the first half: 7 is odd (result_test.cpp:")) << text;
}

TEST(Result, SystemErrorKeepsErrno) {
    Result<int> failed = fail_errno("opening x", ENOENT);
    EXPECT_EQ(failed.error().code(), Code::kSystem);
    EXPECT_EQ(failed.error().system_errno(), ENOENT);
    EXPECT_EQ(failed.error().text(), "opening x: No such file or directory");
}

TEST(Result, EveryCodeHasAName) {
    for (int code = 0; code <= static_cast<int>(Code::kSystem); ++code)
        EXPECT_EQ(code_name(static_cast<Code>(code)) == "error", code == 0) << code;
}

TEST(ResultDeathTest, CheckAborts) { EXPECT_DEATH(CHECK(2 + 2 == 5), "CHECK\\(2 \\+ 2 == 5\\) failed"); }

}  // namespace
}  // namespace base
