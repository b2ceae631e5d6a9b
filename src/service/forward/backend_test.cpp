#include "service/forward/backend.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace service::forward {
namespace {

TEST(ForwardBackend, Question) {
    live::PublisherFacts publisher{.session_id = "c1",
                                   .ip = "10.0.0.1",
                                   .tc_url = "rtmp://a.com/live",
                                   .page_url = "",
                                   .params = "?k=v",
                                   .forward_path = ""};
    auto body = nlohmann::json::parse(backend_request("srv", "run", {"a.com", "live", "s"}, publisher), nullptr, false);
    const nlohmann::json want = {{"server_id", "srv"},
                                 {"service_id", "run"},
                                 {"action", "on_forward"},
                                 {"client_id", "c1"},
                                 {"ip", "10.0.0.1"},
                                 {"vhost", "a.com"},
                                 {"app", "live"},
                                 {"tcUrl", "rtmp://a.com/live"},
                                 {"stream", "s"},
                                 {"param", "?k=v"},
                                 {"stream_url", "a.com/live/s"},
                                 {"stream_id", body["stream_id"]}};
    EXPECT_EQ(body, want);
    EXPECT_NE(body["stream_id"], "");
    // It is valid JSON whatever bytes a client has in its names.
    EXPECT_TRUE(nlohmann::json::accept(backend_request("s", "r", {"v", "a\xff", "\"\n"}, publisher)));
}

std::string read(std::string_view body) {
    auto urls = read_backend_answer(body);
    if (!urls) return "error: " + urls.error().text();
    std::string all;
    for (const std::string& url : *urls) all += url + " ";
    return all;
}

TEST(ForwardBackend, Answers) {
    EXPECT_EQ(read(R"({"code":0,"data":{"urls":["rtmp://a/live/s","b:1936"]}})"), "rtmp://a/live/s b:1936 ");
    EXPECT_EQ(read(R"({"code":0,"data":{"urls":[]}})"), "");
    EXPECT_EQ(read(R"({"code":0,"data":{"urls":null}})"), "");
    EXPECT_EQ(read(R"({"code":0,"data":null})"), "");
    EXPECT_EQ(read(R"({"code":0})"), "");
}

TEST(ForwardBackend, WhatIsNoAnswer) {
    std::string many = R"({"code":0,"data":{"urls":["a")";
    for (int i = 0; i < 40; ++i) many += R"(,"a")";
    for (const std::string& bad :
         {std::string(), std::string("0"), std::string("<html>"), std::string("[]"), std::string("{}"),
          std::string(R"({"code":"0"})"), std::string(R"({"code":0.5})"), std::string(R"({"code":1})"),
          std::string(R"({"code":18446744073709551615})"), std::string(R"({"code":0,"data":[]})"),
          std::string(R"({"code":0,"data":{"urls":{}}})"), std::string(R"({"code":0,"data":{"urls":[1]}})"),
          std::string(R"({"code":0,"data":{"urls":["a"]})"), many + "]}}", std::string(100'000, ' ')})
        EXPECT_EQ(read(bad).find("error: the answer"), 0u) << bad.substr(0, 60) << "\n" << read(bad);
}

}  // namespace
}  // namespace service::forward
