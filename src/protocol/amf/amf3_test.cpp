#include "protocol/amf/amf3.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace amf {

using base::hex;
using Bytes = std::vector<uint8_t>;

namespace {

base::Result<Value> decoded_amf3(const Bytes& bytes, const Limits& limits = {}) {
    base::ByteReader reader(bytes);
    return decode_amf3(reader, limits);
}

}  // namespace

TEST(Amf3, KnownBytes) {
    struct Case {
        const char* bytes;
        Value value;
    };
    const Case cases[] = {
        {"00", Value::undefined()},
        {"01", Value()},
        {"02", false},
        {"03", true},
        {"04 00", 0},
        {"04 7f", 127},
        {"04 8100", 128},
        {"04 ff7f", 16383},
        {"04 818000", 16384},
        {"04 ffff7f", 2097151},
        {"04 80c08000", 2097152},
        {"04 bfffffff", 268435455},
        {"04 ffffffff", -1},
        {"04 c0808000", -268435456},
        {"05 41b0000000000000", 268435456},
        {"05 3fe0000000000000", 0.5},
        {"06 01", ""},
        {"06 09 6c697665", "live"},
        {"08 01 3ff0000000000000", Value::date(1)},
        {"09 05 01 03 02", Value::strict_array({true, false})},
        {"0a 0b 01 03 61 03 01", Value::object({{"a", true}})},
        {"0b 05 3c61", Value::xml("<a")},
        {"0c 05 0102", Value::byte_array("\x01\x02")},
        {"09 01 03 61 03 01", Value::ecma_array({{"a", true}})},
    };
    for (const Case& c : cases) {
        auto value = decoded_amf3(hex(c.bytes));
        ASSERT_TRUE(value) << c.bytes << value.error().text();
        EXPECT_EQ(*value, c.value) << c.bytes;
        for (size_t n = 0; n < hex(c.bytes).size(); ++n) {
            Bytes cut = hex(c.bytes);
            cut.resize(n);
            EXPECT_FALSE(decoded_amf3(cut)) << c.bytes << " cut at " << n;
        }
    }
}

TEST(Amf3, StringReferences) {
    auto value = decoded_amf3(hex("09 07 01 06 03 61 06 00 06 01"));
    ASSERT_TRUE(value) << value.error().text();
    EXPECT_EQ(*value, Value::strict_array({"a", "a", ""}));
    EXPECT_FALSE(decoded_amf3(hex("06 00")));
    EXPECT_FALSE(decoded_amf3(hex("09 05 01 06 03 61 06 02")));
}

TEST(Amf3, TraitsReferences) {
    // Two objects of class A with a sealed member x, the second by reference to the first one's traits.
    auto value = decoded_amf3(hex("09 05 01  0a 13 03 41 03 78 04 01  0a 01 04 02"));
    ASSERT_TRUE(value) << value.error().text();
    ASSERT_EQ(value->elements().size(), 2u);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(value->elements()[i].class_name(), "A");
        EXPECT_EQ(value->elements()[i].get("x").number_or(0), i + 1);
    }
    EXPECT_FALSE(decoded_amf3(hex("0a 01 04 02")));
}

TEST(Amf3, ObjectReferences) {
    // [ {a:1}, reference to it, date, reference to the date ]
    auto value = decoded_amf3(hex("09 09 01  0a 0b 01 03 61 04 01 01  0a 02  08 01 3ff0000000000000  08 04"));
    ASSERT_TRUE(value) << value.error().text();
    ASSERT_EQ(value->elements().size(), 4u);
    EXPECT_EQ(value->elements()[1], Value::object({{"a", 1}}));
    EXPECT_EQ(value->elements()[3], Value::date(1));
    EXPECT_FALSE(decoded_amf3(hex("0a 02")));
}

TEST(Amf3, ACycleBecomesNull) {
    auto value = decoded_amf3(hex("0a 0b 01 03 61 0a 00 01"));
    ASSERT_TRUE(value) << value.error().text();
    EXPECT_EQ(*value, Value::object({{"a", Value()}}));
}

TEST(Amf3, MixedArray) {
    auto value = decoded_amf3(hex("09 03 03 61 03 01 04 07"));
    ASSERT_TRUE(value);
    EXPECT_EQ(*value, Value::ecma_array({{"a", true}, {"0", 7}}));
}

TEST(Amf3, WhatIsNotSupported) {
    EXPECT_FALSE(decoded_amf3(hex("0d 01")));           // a vector
    EXPECT_FALSE(decoded_amf3(hex("11 01")));           // a dictionary
    EXPECT_FALSE(decoded_amf3(hex("0a 07 03 41 01")));  // externalizable
    EXPECT_FALSE(decoded_amf3({}));
}

TEST(Amf3, NestedTenThousandDeep) {
    for (const char* level : {"09 03 01", "0a 0b 01 03 61"}) {
        Bytes one = hex(level);
        Bytes bytes;
        for (int i = 0; i < 10000; ++i) bytes.insert(bytes.end(), one.begin(), one.end());
        auto value = decoded_amf3(bytes);
        ASSERT_FALSE(value);
        EXPECT_EQ(value.error().code(), base::Code::kLimit) << value.error().text();
    }
}

// Each array references the previous one several times: expanded references would grow exponentially.
TEST(Amf3, ReferencesDoNotMultiply) {
    Bytes bytes = hex("09 3d 01  09 11 01 02 02 02 02 02 02 02 02");
    for (uint8_t level = 1; level < 30; ++level) {
        Bytes array = hex("09 11 01");
        for (int i = 0; i < 8; ++i) array.insert(array.end(), {9, static_cast<uint8_t>(level << 1)});
        bytes.insert(bytes.end(), array.begin(), array.end());
    }
    auto value = decoded_amf3(bytes);
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().code(), base::Code::kLimit) << value.error().text();
}

TEST(Amf3, RepeatedTextIsCounted) {
    Bytes bytes = hex("09 8111 01 06 9001");  // 72 elements, the first of 1,024 bytes
    bytes.insert(bytes.end(), 1024, 'x');
    for (int i = 1; i < 72; ++i) bytes.insert(bytes.end(), {6, 0});
    EXPECT_TRUE(decoded_amf3(bytes));
    auto value = decoded_amf3(bytes, {.text = 8192});
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().code(), base::Code::kLimit);
}

TEST(Amf3, AByteArrayIsWrittenAsItIsRead) {
    for (const size_t size : {0u, 2u, 63u, 64u, 8191u, 8192u, 1'048'575u, 1'048'576u}) {
        const std::string bytes(size, 'b');
        Bytes out;
        base::ByteWriter writer(out);
        put_amf3_byte_array(bytes, writer);
        EXPECT_EQ(decoded_amf3(out, {.text = UINT32_MAX}).value_or(Value()), Value::byte_array(bytes)) << size;
    }
}

}  // namespace amf
