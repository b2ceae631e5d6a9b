#include "base/ref.h"

#include <gtest/gtest.h>

namespace base {
namespace {

struct Counted : RefCounted<Counted> {
    explicit Counted(int& alive) : alive_(alive) { ++alive_; }
    ~Counted() { --alive_; }
    int& alive_;
};

TEST(Ref, TheLastOneDestroys) {
    int alive = 0;
    Ref<Counted> a = make_ref<Counted>(alive);
    EXPECT_EQ(alive, 1);
    {
        Ref<Counted> b = a;
        EXPECT_EQ(a->ref_count(), 2u);
        EXPECT_EQ(a, b);
    }
    EXPECT_EQ(a->ref_count(), 1u);
    a.reset();
    EXPECT_EQ(alive, 0);
    EXPECT_FALSE(a);
}

TEST(Ref, MovesWithoutCounting) {
    int alive = 0;
    Ref<Counted> a = make_ref<Counted>(alive);
    Ref<Counted> b = std::move(a);
    EXPECT_FALSE(a);
    EXPECT_EQ(b->ref_count(), 1u);
    b = Ref<Counted>(b.get());
    EXPECT_EQ(b->ref_count(), 1u);
    b = make_ref<Counted>(alive);
    EXPECT_EQ(alive, 1);
}

TEST(Ref, NullIsEmpty) {
    Ref<Counted> empty = nullptr;
    Ref<Counted> copy = empty;
    EXPECT_FALSE(copy);
    EXPECT_EQ(copy, empty);
}

}  // namespace
}  // namespace base
