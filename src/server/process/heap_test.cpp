#include "server/process/heap.h"

#include <gtest/gtest.h>

namespace server {
namespace {

TEST(LargePages, AreWantedWhereTheProgramDecides) {
    EXPECT_TRUE(wants_large_pages("always [madvise] never\n", nullptr, nullptr));
    EXPECT_FALSE(wants_large_pages("[always] madvise never\n", nullptr, nullptr));
    EXPECT_FALSE(wants_large_pages("always madvise [never]\n", nullptr, nullptr));
    EXPECT_FALSE(wants_large_pages("", nullptr, nullptr)) << "a kernel without large pages";
}

TEST(LargePages, AreNotWantedWhereSomebodyElseHasDecided) {
    const char* mode = "always [madvise] never\n";
    EXPECT_FALSE(wants_large_pages(mode, "glibc.malloc.hugetlb=1", nullptr)) << "also what ends the second execution";
    EXPECT_FALSE(wants_large_pages(mode, "", nullptr));
    EXPECT_FALSE(wants_large_pages(mode, nullptr, "/usr/libexec/valgrind/vgpreload_core-amd64-linux.so"));
}

}  // namespace
}  // namespace server
