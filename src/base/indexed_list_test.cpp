#include "base/indexed_list.h"

#include <gtest/gtest.h>

#include <string>

namespace base {
namespace {

struct Named {
    explicit Named(char n) : name(n) {}
    char name;
    uint32_t index = 0;
};

std::string names(const IndexedList<Named>& list) {
    std::string all;
    for (const auto& one : list) {
        EXPECT_EQ(one->index, all.size());
        all += one->name;
    }
    return all;
}

TEST(IndexedList, TheLastOneTakesTheIndexOfTheRemovedOne) {
    IndexedList<Named> list;
    list.add(std::make_unique<Named>('a'));
    Named& b = list.add(std::make_unique<Named>('b'));
    list.add(std::make_unique<Named>('c'));
    Named& d = list.add(std::make_unique<Named>('d'));
    EXPECT_EQ(names(list), "abcd");
    list.remove(b);
    EXPECT_EQ(names(list), "adc");
    list.remove(d);
    EXPECT_EQ(names(list), "ac");
    list.remove(**std::next(list.begin()));
    EXPECT_EQ(names(list), "a");
}

struct Leaver {
    explicit Leaver(IndexedList<Leaver>& l) : list(l) {}
    ~Leaver() { EXPECT_TRUE(list.empty()); }
    IndexedList<Leaver>& list;
    size_t index = 0;
};

TEST(IndexedList, AnObjectIsDestroyedWhenItIsNoLongerInTheList) {
    IndexedList<Leaver> list;
    list.remove(list.add(std::make_unique<Leaver>(list)));
    EXPECT_EQ(list.size(), 0u);
}

}  // namespace
}  // namespace base
