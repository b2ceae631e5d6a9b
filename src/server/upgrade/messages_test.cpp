#include "server/upgrade/messages.h"

#include <gtest/gtest.h>

namespace server::upgrade {
namespace {

TEST(UpgradeMessages, AreReadAsWritten) {
    const Message all[] = {
        {.kind = Kind::kHello, .version = kVersion, .pid = 4711, .text = "0.1.0"},
        {.kind = Kind::kSockets},
        {.kind = Kind::kFailed, .text = "conf/srs.conf:3: error: \"x\"\nand more"},
        {.kind = Kind::kPublished, .keys = {{"__defaultVhost__", "live", "a b%\t\xff"}, {"v.com", "a/b", "c"}}},
        {.kind = Kind::kClaim, .id = 7, .keys = {{"v", "a", "s"}}},
        {.kind = Kind::kVerdict, .id = UINT64_MAX, .is_granted = true},
        {.kind = Kind::kHttp, .text = "api"},
        {.kind = Kind::kFigures,
         .figures = service::ProcessFigures{.pid = 7,
                                            .version = "1.2",
                                            .connections = 3,
                                            .stream_memory = UINT64_MAX,
                                            .publishers = 1,
                                            .players = 2,
                                            .traffic = {7, 8},
                                            .addresses = {{*base::IpAddress::parse("192.0.2.1"), 2},
                                                          {*base::IpAddress::parse("2001:db8::"), UINT32_MAX}}}},
        {.kind = Kind::kEnding},
        {.kind = Kind::kEnd},
        {.kind = Kind::kState, .text = "hls"},
    };
    for (const Message& message : all) {
        const auto read = parse_message(write_message(message));
        ASSERT_TRUE(read) << read.error().text();
        EXPECT_EQ(*read, message) << write_message(message);
    }
}

TEST(UpgradeMessages, OfAnotherVersionAreUnknown) {
    const auto read = parse_message(R"({"kind":"later","keys":[1]})");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->kind, Kind::kUnknown);
    const auto more = parse_message(R"({"kind":"ready","more":{"a":[1]},"id":"text"})");
    ASSERT_TRUE(more);
    EXPECT_EQ(more->kind, Kind::kReady);
    EXPECT_EQ(more->id, 0u);
}

TEST(UpgradeMessages, BadOnesAreRefused) {
    const std::string long_name(kMaxKeyBytes + 1, 'x');
    const std::string all[] = {
        "",
        "hello",
        "[]",
        "{}",
        R"({"kind":7})",
        R"({"kind":"published","keys":7})",
        R"({"kind":"published","keys":[["a","b"]]})",
        R"({"kind":"published","keys":[["a","b",7]]})",
        R"({"kind":"published","keys":[["a","b","%zz"]]})",
        R"({"kind":"figures","figures":7})",
        R"({"kind":"figures","figures":{"addresses":{}}})",
        R"({"kind":"figures","figures":{"addresses":[["192.0.2.1"]]}})",
        R"({"kind":"figures","figures":{"addresses":[["192.0.2.1",-1]]}})",
        R"({"kind":"figures","figures":{"addresses":[["x",1]]}})",
        R"({"kind":"published","keys":[["a","b",")" + long_name + R"("]]})",
    };
    for (const std::string& text : all) EXPECT_FALSE(parse_message(text)) << text.substr(0, 80);
}

TEST(UpgradeMessages, NumbersThatCannotBeAreNone) {
    for (const char* number : {"-1", "1.5", "\"7\"", "18446744073709551616", "null"}) {
        const auto read = parse_message(std::string(R"({"kind":"figures","id":)") + number +
                                        R"(,"figures":{"connections":)" + number + R"(,"received":)" + number + "}}");
        ASSERT_TRUE(read) << number;
        EXPECT_EQ(read->id, 0u) << number;
        EXPECT_EQ(read->figures->connections, 0u) << number;
        EXPECT_EQ(read->figures->traffic.received_bytes, 0u) << number;
    }
    const auto large = parse_message(
        R"({"kind":"hello","version":4294967297,"pid":18446744073709551615,"figures":{"connections":18446744073709551615}})");
    ASSERT_TRUE(large);
    EXPECT_EQ(large->version, 0);
    EXPECT_EQ(large->pid, 0);
    EXPECT_LT(large->figures->connections, 1'000'000'000u) << "a limit that it is added to stays one";
}

TEST(UpgradeMessages, FiguresFitIntoOneMessage) {
    Message message{.kind = Kind::kFigures, .figures = service::ProcessFigures()};
    for (uint32_t i = 0; i < 2 * kMaxAddresses; ++i)
        message.figures->addresses.emplace_back(
            *base::IpAddress::parse("2001:db8:ffff:ffff:ffff:ffff:ffff:" + std::to_string(1000 + i)), UINT32_MAX);
    const std::string text = write_message(message);
    EXPECT_LE(text.size(), 64u * 1024);
    const auto read = parse_message(text);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->figures->addresses.size(), kMaxAddresses);
}

TEST(UpgradeMessages, ManyKeysAreSeveralMessages) {
    std::vector<base::StreamKey> keys;
    for (int i = 0; i < 1'000; ++i) keys.push_back({"__defaultVhost__", "live", "stream" + std::to_string(i)});
    keys.push_back({"v", "a", std::string(kMaxKeyBytes, '\xff')});  // too long with the rest
    size_t found = 0;
    for (const Message& message : messages_of(Kind::kPublished, keys)) {
        EXPECT_LE(write_message(message).size(), 64u * 1024);
        const auto read = parse_message(write_message(message));
        ASSERT_TRUE(read);
        found += read->keys.size();
    }
    EXPECT_EQ(found, 1'000u);
    EXPECT_TRUE(messages_of(Kind::kPublished, {}).empty());
}

}  // namespace
}  // namespace server::upgrade
