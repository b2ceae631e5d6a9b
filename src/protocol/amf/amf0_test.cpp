#include "protocol/amf/amf0.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace amf {

using base::hex;
using Bytes = std::vector<uint8_t>;

namespace {

Bytes encoded_amf0(const Value& value) {
    Bytes out;
    base::ByteWriter writer(out);
    encode_amf0(value, writer);
    return out;
}

base::Result<Value> decoded_amf0(const Bytes& bytes, const Limits& limits = {}) {
    base::ByteReader reader(bytes);
    return decode_amf0(reader, limits);
}

// The bytes repeated `depth` times, as an attacker would send them.
Bytes repeated(std::string_view text, int depth) {
    Bytes one = hex(text);
    Bytes out;
    for (int i = 0; i < depth; ++i) out.insert(out.end(), one.begin(), one.end());
    return out;
}

}  // namespace

TEST(Amf0, KnownBytes) {
    struct Case {
        const char* bytes;
        Value value;
    };
    const Case cases[] = {
        {"00 3ff0000000000000", 1},
        {"01 01", true},
        {"01 00", false},
        {"02 0004 6c697665", "live"},
        {"02 0000", ""},
        {"03 000009", Value::object()},
        {"03 0001 61 05 0001 62 06 000009", Value::object({{"a", Value()}, {"b", Value::undefined()}})},
        {"05", Value()},
        {"06", Value::undefined()},
        {"08 00000001 0001 61 0101 000009", Value::ecma_array({{"a", true}})},
        {"0a 00000002 05 0101", Value::strict_array({Value(), true})},
        {"0b 3ff0000000000000 0000", Value::date(1)},
        {"0f 00000003 3c612f", Value::xml("<a/")},
    };
    for (const Case& c : cases) {
        auto value = decoded_amf0(hex(c.bytes));
        ASSERT_TRUE(value) << c.bytes << value.error().text();
        EXPECT_EQ(*value, c.value) << c.bytes;
        EXPECT_EQ(encoded_amf0(c.value), hex(c.bytes)) << c.bytes;
    }
}

TEST(Amf0, WhatIsReadOnly) {
    EXPECT_EQ(*decoded_amf0(hex("07 0001")), Value());            // a reference
    EXPECT_EQ(*decoded_amf0(hex("0d")), Value::undefined());      // unsupported
    EXPECT_EQ(*decoded_amf0(hex("0c 00000001 61")), Value("a"));  // a short long string
    EXPECT_EQ(*decoded_amf0(hex("11 04 05")), Value(5));          // AMF3
    EXPECT_EQ(*decoded_amf0(hex("01 7f")), Value(true));
    EXPECT_EQ(*decoded_amf0(hex("03 0000 05 000009")), Value::object({{"", Value()}}));  // a member without a name
}

TEST(Amf0, TypedObject) {
    Value v = Value::object({{"x", 1}});
    v.set_class_name("a.B");
    EXPECT_EQ(encoded_amf0(v), hex("10 0003 612e42 0001 78 00 3ff0000000000000 000009"));
    EXPECT_EQ(*decoded_amf0(encoded_amf0(v)), v);
}

TEST(Amf0, LongStrings) {
    for (size_t size : {65535ul, 65536ul, 200000ul}) {
        Value v(std::string(size, 'x'));
        Bytes bytes = encoded_amf0(v);
        EXPECT_EQ(bytes[0], size > 65535 ? 12 : 2);
        EXPECT_EQ(*decoded_amf0(bytes), v);
    }
}

TEST(Amf0, ByteArraysGoByAmf3) {
    Value v = Value::byte_array("\x01\x02");
    EXPECT_EQ(encoded_amf0(v), hex("11 0c 05 0102"));
    EXPECT_EQ(*decoded_amf0(encoded_amf0(v)), v);
}

// The connect command of FFmpeg.
TEST(Amf0, AConnectCommand) {
    Value object = Value::object({{"app", "live"}, {"type", "nonprivate"}, {"tcUrl", "rtmp://127.0.0.1:1935/live"}});
    Bytes out;
    base::ByteWriter writer(out);
    encode_amf0("connect", writer);
    encode_amf0(1, writer);
    encode_amf0(object, writer);
    base::ByteReader reader(out);
    auto values = decode_amf0_all(reader);
    ASSERT_TRUE(values);
    ASSERT_EQ(values->size(), 3u);
    EXPECT_EQ((*values)[0].string_or(""), "connect");
    EXPECT_EQ((*values)[2], object);
    // A truncation inside a value is an error; between values it makes a shorter message.
    for (size_t n = 0; n < out.size(); ++n) {
        base::ByteReader cut({out.data(), n});
        auto result = decode_amf0_all(cut);
        bool between = n == 0 || n == 10 || n == 19;
        EXPECT_EQ(result.has_value(), between) << n;
    }
}

TEST(Amf0, AnEcmaArrayMayEndWithTheMessage) {
    auto value = decoded_amf0(hex("08 00000005 0001 61 0101"));
    ASSERT_TRUE(value);
    EXPECT_EQ(*value, Value::ecma_array({{"a", true}}));
    EXPECT_FALSE(decoded_amf0(hex("08 00000005 0001 61 0101 00")));
    EXPECT_FALSE(decoded_amf0(hex("08 0000")));
    EXPECT_FALSE(decoded_amf0(hex("03 0001 61 0101")));
}

TEST(Amf0, StringsLongerThanTheirMessage) {
    for (const char* bytes : {"02 ffff 61", "02 00", "0c ffffffff 61", "0f 00000002 61", "03 ffff 61", "10 0004 6162",
                              "03 0001 61 02 0009 61"}) {
        auto value = decoded_amf0(hex(bytes));
        ASSERT_FALSE(value) << bytes;
        EXPECT_EQ(value.error().code(), base::Code::kProtocol) << bytes;
        EXPECT_NE(value.error().text().find("runs past the end"), std::string::npos) << value.error().text();
    }
}

TEST(Amf0, UnknownTypes) {
    for (const char* bytes : {"04", "09", "0e", "12", "ff", "03 0001 61 09"})
        EXPECT_FALSE(decoded_amf0(hex(bytes))) << bytes;
    EXPECT_FALSE(decoded_amf0({}));
}

TEST(Amf0, NestedTenThousandDeep) {
    for (const char* level : {"03 0001 61", "0a 00000001", "08 00000001 0001 61", "10 0000 0001 61"}) {
        Bytes bytes = repeated(level, 10000);
        bytes.push_back(5);
        auto value = decoded_amf0(bytes);
        ASSERT_FALSE(value) << level;
        EXPECT_EQ(value.error().code(), base::Code::kLimit) << value.error().text();
        EXPECT_NE(value.error().text().find("too deep"), std::string::npos);
    }
}

TEST(Amf0, DepthIsALimitAndNoMore) {
    Value v(1);
    for (int i = 0; i < 32; ++i) v = Value::object({{"x", std::move(v)}});
    EXPECT_EQ(*decoded_amf0(encoded_amf0(v)), v);
    EXPECT_FALSE(decoded_amf0(encoded_amf0(Value::strict_array({v}))));
    // Siblings do not count as nesting.
    EXPECT_TRUE(decoded_amf0(encoded_amf0(Value::strict_array(std::vector<Value>(1000, Value::object())))));
}

TEST(Amf0, Bounds) {
    EXPECT_FALSE(decoded_amf0(hex("0a ffffffff 05")));  // a large count without data allocates nothing
    Bytes many = hex("0a 00010000");
    many.insert(many.end(), 65536, 5);
    auto value = decoded_amf0(many);
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().code(), base::Code::kLimit);
    EXPECT_TRUE(decoded_amf0(many, {.values = 65537}));
    EXPECT_FALSE(decoded_amf0(hex("02 0005 6161616161"), {.text = 4}));
    EXPECT_TRUE(decoded_amf0(hex("02 0004 61616161"), {.text = 4}));
}

}  // namespace amf
