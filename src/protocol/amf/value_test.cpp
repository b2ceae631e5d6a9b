#include "protocol/amf/value.h"

#include <gtest/gtest.h>

#include <cmath>

namespace amf {

TEST(Value, AccessorsFallBack) {
    Value v = Value::object({{"app", "live"}, {"n", 3}, {"b", true}, {"nothing", Value()}});
    EXPECT_EQ(v.get("app").string_or("x"), "live");
    EXPECT_EQ(v.get("missing").string_or("x"), "x");
    EXPECT_EQ(v.get("n").string_or("x"), "x");
    EXPECT_EQ(v.get("n").number_or(0), 3);
    EXPECT_EQ(v.get("app").number_or(7), 7);
    EXPECT_TRUE(v.get("b").bool_or(false));
    EXPECT_TRUE(v.get("n").bool_or(false));
    EXPECT_TRUE(v.get("app").bool_or(true));
    EXPECT_TRUE(v.has("nothing"));
    EXPECT_FALSE(v.has("missing"));
    EXPECT_TRUE(v.get("app").get("deeper").is_null_or_undefined());
    EXPECT_TRUE(Value(1).members().empty());
    EXPECT_TRUE(Value(1).elements().empty());
}

TEST(Value, IntegersAreCut) {
    EXPECT_EQ(Value(1e300).int_or(0), UINT32_MAX);
    EXPECT_EQ(Value(-1e300).int_or(0), INT32_MIN);
    EXPECT_EQ(Value(-INFINITY).int_or(0, -5, 5), -5);
    EXPECT_EQ(Value(std::nan("")).int_or(42), 42);
    EXPECT_EQ(Value(2.9).int_or(0), 2);
    EXPECT_EQ(Value("2").int_or(42), 42);
}

TEST(Value, SetReplacesAndKeepsOrder) {
    Value v = Value::object();
    v.set("b", 1);
    v.set("a", 2);
    v.set("b", 3);
    ASSERT_EQ(v.members().size(), 2u);
    EXPECT_EQ(v.members()[0].name, "b");
    EXPECT_EQ(v.members()[0].value, Value(3));
}

TEST(Value, CopiesAreDeepAndMovesLeaveNull) {
    Value v = Value::object({{"inner", Value::strict_array({1, "two", false})}});
    Value copy = v;
    v.set("inner", 0);
    EXPECT_EQ(copy.get("inner").elements().size(), 3u);
    Value moved = std::move(copy);
    EXPECT_EQ(moved.get("inner").elements()[1], Value("two"));
    EXPECT_EQ(copy.type(), Type::kNull);  // NOLINT: a moved-from value is null
    EXPECT_EQ(copy, Value());
}

TEST(Value, MovesOutOfItself) {
    Value v = Value::object({{"inner", Value::object({{"x", "a text that is not short at all"}})}});
    v = Value(v.get("inner"));
    EXPECT_EQ(v.get("x").string_or(""), "a text that is not short at all");
    Value array = Value::strict_array({Value::strict_array({7})});
    array = std::move(const_cast<Value&>(array.elements()[0]));
    EXPECT_EQ(array, Value::strict_array({7}));
}

TEST(Value, EqualityLooksAtTypes) {
    EXPECT_FALSE(Value(1) == Value::date(1));
    EXPECT_FALSE(Value("x") == Value::xml("x"));
    EXPECT_FALSE(Value() == Value::undefined());
    EXPECT_FALSE(Value::object() == Value::ecma_array());
    EXPECT_EQ(Value::object({{"a", 1}}), Value::object({{"a", 1}}));
}

}  // namespace amf
