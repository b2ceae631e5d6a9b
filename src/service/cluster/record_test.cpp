#include "service/cluster/record.h"

#include <gtest/gtest.h>

#include "service/cluster/redis_client.h"

namespace service::cluster {
namespace {

std::string problem(const base::Result<Record>& result) { return result ? "" : result.error().text(); }

TEST(ClusterRecord, IsReadAsItWasWritten) {
    const Record record{"rtmp://192.0.2.1:1935", "http://[2001:db8::1]:8080", "http://h:1985", "srv-run-7",
                        1700000000123};
    const auto read = parse_record(to_text(record));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, record);
    EXPECT_EQ(record.where(), "rtmp://192.0.2.1:1935");
}

TEST(ClusterRecord, WhatIsNoRecord) {
    const std::pair<const char*, const char*> kCases[] = {
        {"", "a record that is no JSON object"},
        {"[]", "a record that is no JSON object"},
        {"{}", "a record without an address or a fence"},
        {R"({"rtmp":"rtmp://a:1"})", "a record without an address or a fence"},
        {R"({"rtmp":5,"fence":"f"})", "a record without an address or a fence"},
        {R"({"rtmp":"http://a:1","fence":"f"})", "a record whose address for RTMP is none"},
        {R"({"rtmp":"rtmp://a:1/x","fence":"f"})", "a record whose address for RTMP is none"},
        {R"({"rtmp":"rtmp://a\r\nb","fence":"f"})", "a record whose address for RTMP is none"},
        {R"({"rtmp":"rtmp://u@a","fence":"f"})", "a record whose address for RTMP is none"},
        {R"({"rtmp":"rtmp://","fence":"f"})", "a record whose address for RTMP is none"},
        {R"({"http":"http://a:1 ","fence":"f"})", "a record whose address for HTTP is none"},
        {R"({"http":"javascript://a","fence":"f"})", "a record whose address for HTTP is none"},
    };
    for (const auto& [text, expected] : kCases) EXPECT_EQ(problem(parse_record(text)), expected) << text;
    EXPECT_EQ(problem(parse_record(R"({"http":"http://a:1","fence":")" + std::string(kMaxRecord, 'f') + "\"}")),
              "a record that is too long");
}

TEST(ClusterRecord, KeysOfTwoStreamsDiffer) {
    EXPECT_EQ(key_of("srs", {"v", "live", "s"}), "srs:stream:v/live/s");
    EXPECT_EQ(key_of("srs", {"v", "a/b", "c"}), "srs:stream:v/a%2Fb/c");
    EXPECT_EQ(key_of("srs", {"v", "a", "b/c"}), "srs:stream:v/a/b%2Fc");
    EXPECT_EQ(key_of("srs", {"v", "a", "b%2Fc"}), "srs:stream:v/a/b%252Fc");
}

TEST(ClusterRecord, AnswersOfCoworkers) {
    const auto there = parse_coworker_answer(
        R"({"code":0,"server":"x","data":{"query":{"ip":"h"},"origin":{"ip":"192.0.2.7","port":19350,"vhost":"v",)"
        R"("api":"192.0.2.7:1985","routers":["192.0.2.7:1985"]}}})");
    ASSERT_TRUE(there) << there.error().text();
    EXPECT_EQ(there->rtmp, "rtmp://192.0.2.7:19350");
    EXPECT_EQ(parse_coworker_answer(R"({"code":0,"data":{"origin":{"ip":"::1","port":1}}})")->rtmp, "rtmp://[::1]:1");
    for (const char* nothing : {R"({"code":0,"data":{"query":{},"origin":null}})", R"({"code":0,"data":{}})"}) {
        const auto answer = parse_coworker_answer(nothing);
        ASSERT_TRUE(answer) << nothing << ": " << answer.error().text();
        EXPECT_EQ(answer->rtmp, "") << nothing;
    }
    const std::pair<const char*, const char*> kCases[] = {
        {"<html>", "the answer is no {\"code\":0, ...}"},
        {R"({"code":100})", "the answer is no {\"code\":0, ...}"},
        {R"({"code":0})", "the answer has no data"},
        {R"({"code":0,"data":{"origin":7}})", "the answer's origin is no object"},
        {R"({"code":0,"data":{"origin":{"ip":"a"}}})", "the answer's origin has no port"},
        {R"({"code":0,"data":{"origin":{"ip":"a","port":70000}}})", "the answer's origin has no port"},
        {R"({"code":0,"data":{"origin":{"port":1}}})", "the answer's origin has no address"},
        {R"({"code":0,"data":{"origin":{"ip":"a/b","port":1}}})", "the answer's origin has no address"},
    };
    for (const auto& [text, expected] : kCases) EXPECT_EQ(problem(parse_coworker_answer(text)), expected) << text;
}

TEST(ClusterRecord, AddressesOfRedis) {
    const std::tuple<const char*, const char*, int> kCases[] = {{"127.0.0.1:6380", "127.0.0.1", 6380},
                                                                {"redis.example", "redis.example", 6379},
                                                                {"[::1]", "::1", 6379},
                                                                {"[::1]:7", "::1", 7}};
    for (const auto& [text, host, port] : kCases) {
        const auto address = parse_redis_address(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(address->host, host) << text;
        EXPECT_EQ(address->port, port) << text;
    }
    for (const char* text : {"", ":6379", "a:0x", "a:70000", "redis://a", "a/0", "a b"})
        EXPECT_FALSE(parse_redis_address(text)) << text;
}

}  // namespace
}  // namespace service::cluster
