#include "service/bandwidth/check_book.h"

#include <gtest/gtest.h>

#include "runtime/loop/testing.h"

namespace service::bandwidth {
namespace {

using runtime::testing::failed_with;
using runtime::testing::ok;

constexpr int64_t kSecond = 1'000'000;

CheckBook::Options options() {
    return {.duration_us = 10 * kSecond,
            .bytes = 1'000'000,
            .in_all = 3,
            .of_address = 2,
            .per_second = 0.1,
            .burst = 3,
            .bytes_per_second = 1'000'000};
}

CheckBook book_of(const CheckBook::Options& options) {
    CheckBook book;
    book.set_options(options);
    return book;
}

TEST(CheckBook, IsBoundedOfAnAddressAndInAll) {
    CheckBook book = book_of(options());
    const auto first = book.begin("1", "10.0.0.1", 0);
    ASSERT_TRUE(first && book.begin("2", "10.0.0.1", 0));
    const auto third = book.begin("3", "10.0.0.1", 0);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code(), base::Code::kRefused);
    EXPECT_TRUE(book.begin("4", "10.0.0.2", 0)) << "another address has its own";
    const auto fifth = book.begin("5", "10.0.0.3", 0);
    ASSERT_FALSE(fifth);
    EXPECT_EQ(fifth.error().code(), base::Code::kLimit);
    book.end(*first, kSecond);
    EXPECT_TRUE(book.begin("6", "10.0.0.1", kSecond)) << "one of its checks has ended";
    EXPECT_EQ(book.counters().begun, 4u);
    EXPECT_EQ(book.counters().refused_address, 1u);
    EXPECT_EQ(book.counters().refused_all, 1u);
}

TEST(CheckBook, TheRateOfAnAddressIsBounded) {
    CheckBook book = book_of(options());
    for (const char* id : {"1", "2", "3"}) {
        const auto check = book.begin(id, "2001:db8::1", 0);
        ASSERT_TRUE(check) << id;
        book.end(*check, 0);
    }
    EXPECT_FALSE(book.begin("4", "2001:db8::2", 0)) << "a /64 is one address";
    EXPECT_TRUE(book.begin("5", "2001:db8::1", 10 * kSecond));
    CheckBook::Options exempt = options();
    exempt.exempt = {*base::IpNetwork::parse("10.0.0.0/8")};
    book.set_options(exempt);
    for (int i = 0; i < 10; ++i) {
        const auto check = book.begin("x", "10.0.0.1", 20 * kSecond);
        ASSERT_TRUE(check) << i;
        book.end(*check, 20 * kSecond);
    }
}

TEST(CheckBook, ACheckEndsByItself) {
    CheckBook book = book_of(options());
    const CheckPtr check = *book.begin("1", "10.0.0.1", 0);
    EXPECT_EQ(book.find("1", 10 * kSecond - 1), check);
    EXPECT_TRUE(check->may_transfer(Direction::kUp, 10 * kSecond - 1));
    EXPECT_EQ(book.find("2", 0), nullptr);
    EXPECT_EQ(book.find("", 0), nullptr);
    EXPECT_FALSE(check->may_transfer(Direction::kUp, 10 * kSecond));
    EXPECT_EQ(book.find("1", 10 * kSecond), nullptr);
    EXPECT_EQ(book.size(10 * kSecond), 0u);
    EXPECT_TRUE(check->is_ended) << "transfers that hold it end, too";
}

TEST(CheckBook, BytesAreBoundedInEachDirection) {
    CheckBook book = book_of(options());
    const CheckPtr check = *book.begin("1", "10.0.0.1", 0);
    book.count(*check, Direction::kDown, 1'000'000, 0);
    EXPECT_FALSE(check->may_transfer(Direction::kDown, 0));
    EXPECT_TRUE(ok(book.receive("1", 999'999, 0)));
    EXPECT_TRUE(ok(book.receive("1", 10, 0))) << "the last piece may exceed it";
    EXPECT_TRUE(failed_with(book.receive("1", 1, 0), base::Code::kRefused));
    EXPECT_TRUE(failed_with(book.receive("2", 1, 0), base::Code::kNotFound));
    EXPECT_EQ(check->bytes_done[0], 1'000'000u);
    EXPECT_EQ(check->bytes_done[1], 1'000'009u);
    EXPECT_EQ(book.counters().bytes[0], 1'000'000u);
    EXPECT_EQ(book.counters().bytes[1], 1'000'009u);
}

TEST(CheckBook, AllChecksHaveOneCeiling) {
    CheckBook::Options many = options();
    many.bytes = 100'000'000;
    CheckBook book = book_of(many);
    const CheckPtr a = *book.begin("1", "10.0.0.1", 0), b = *book.begin("2", "10.0.0.2", 0);
    EXPECT_LE(book.ready_us(Direction::kDown), 0);
    int64_t now_us = 0;
    uint64_t bytes = 0;
    while (now_us < 5 * kSecond) {
        now_us = std::max(now_us, book.ready_us(Direction::kDown));
        book.count(bytes % 32'000 ? *a : *b, Direction::kDown, 16'000, now_us);
        bytes += 16'000;
    }
    EXPECT_NEAR(static_cast<double>(bytes), 5e6, 1e5) << "of both together";
    EXPECT_LE(book.ready_us(Direction::kUp), 0) << "the other direction has its own";
}

TEST(CheckBook, InputFarBeyondTheCeilingIsRefused) {
    CheckBook::Options many = options();
    many.bytes = 100'000'000;
    CheckBook book = book_of(many);
    ASSERT_TRUE(book.begin("1", "10.0.0.1", 0));
    uint64_t bytes = 0;
    while (bytes < 50'000'000 && book.receive("1", 100'000, 0)) bytes += 100'000;
    EXPECT_GT(bytes, static_cast<uint64_t>(CheckBook::kMaxDebtBytes));
    EXPECT_LT(bytes, static_cast<uint64_t>(CheckBook::kMaxDebtBytes) + 2'000'000u);
    EXPECT_TRUE(failed_with(book.receive("1", 1, 0), base::Code::kRefused));
    EXPECT_TRUE(ok(book.receive("1", 1, 3 * kSecond))) << "later there is room again";
    EXPECT_NEAR(static_cast<double>(book.receive("1", 1, 3 * kSecond).value_or(-1)), static_cast<double>(bytes) - 3e6,
                1e5)
        << "us to wait";
}

}  // namespace
}  // namespace service::bandwidth
