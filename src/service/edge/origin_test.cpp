#include "service/edge/origin.h"

#include <gtest/gtest.h>

#include "config/snapshot.h"
#include "protocol/http/url.h"
#include "protocol/rtmp/url.h"

namespace service::edge {
namespace {

const base::StreamKey kKey{"__defaultVhost__", "live", "s"};

TEST(Origin, IsParsed) {
    struct Case {
        const char* text;
        std::optional<Scheme> scheme;
        const char* authority;
    };
    const Case cases[] = {
        {"127.0.0.1", {}, "127.0.0.1"},
        {"a.example:1936", {}, "a.example:1936"},
        {"[::1]:1935", {}, "[::1]:1935"},
        {"rtmp://a", Scheme::kRtmp, "a"},
        {"rtmps://a:443", Scheme::kRtmps, "a:443"},
        {"http://a:8080", Scheme::kHttp, "a:8080"},
        {"https://a", Scheme::kHttps, "a"},
        {"srt://a:1", Scheme::kSrt, "a:1"},
        {"srt://[::1]:1/?passphrase=0123456789&latency=50", Scheme::kSrt, "[::1]:1"},
    };
    for (const Case& c : cases) {
        auto origin = parse_origin(c.text);
        ASSERT_TRUE(origin) << c.text << ": " << origin.error().text();
        EXPECT_EQ(origin->scheme, c.scheme) << c.text;
        EXPECT_EQ(origin->authority, c.authority) << c.text;
        EXPECT_EQ(origin->text, c.text);
    }
    for (const char* text : {"", "rtmp://", "ftp://a", "a/b", "rtmp://a/live", "u:p@a", "a b", "a:0x", "a:99999", "a?b",
                             "a#b", "[::1", "a\n", "srt://a", "srt://a:1/live/s"})
        EXPECT_FALSE(parse_origin(text)) << text;
}

TEST(Origin, SecretsOfSrtAreNotShown) {
    const std::string full = "srt://a:1?passphrase=0123456789&latency=50";
    EXPECT_EQ(shown_origins({full, "rtmp://b", "c:1", "srt://d:1"}),
              (std::vector<std::string>{"srt://a:1", "rtmp://b", "c:1", "srt://d:1"}));
    EXPECT_EQ(find_origin({"b", full}, "srt://a:1")->parameters, "passphrase=0123456789&latency=50");
    EXPECT_EQ(find_origin({full}, "b")->text, "b");
    EXPECT_TRUE(is_same_origin("srt://a:1", full, Scheme::kRtmp));
    for (const char* bad : {"srt://a:1?passphrase=secret", "srt://a:1?x=secret", "srt://u:secret@a:1"})
        EXPECT_FALSE(parse_origin(bad).error().text().contains("secret")) << parse_origin(bad).error().text();
    const auto target = srt_target_of(*parse_origin(full), ::srt::StreamMode::kRequest, kKey, "v.com", "?k=v", "a,b");
    EXPECT_EQ(target->shown, "srt://a:1");
    EXPECT_EQ(target->url.passphrase, "0123456789");
    EXPECT_EQ(target->url.receive_latency_ms, 50);
    EXPECT_EQ(target->url.stream_id, "#!::h=v.com,r=live/s,m=request,via=a:b,k=v");
    EXPECT_EQ(srt_target_of(*parse_origin("srt://a:1?streamid=read:[app]/[stream]"), ::srt::StreamMode::kRequest, kKey,
                            config::kDefaultVhost, "?k=v", "a")
                  ->url.stream_id,
              "read:live/s");
}

std::string url_of(const char* origin, Scheme scheme, const base::StreamKey& key, const char* vhost,
                   const char* params) {
    auto source = target_of(*parse_origin(origin), scheme, key, vhost, params);
    return source ? source->url : source.error().text();
}

TEST(Origin, HasTheStream) {
    EXPECT_EQ(url_of("a:1936", Scheme::kRtmp, kKey, "__defaultVhost__", ""), "rtmp://a:1936/live/s");
    EXPECT_EQ(url_of("a", Scheme::kRtmp, kKey, "b.com", ""), "rtmp://a/live/s?vhost=b.com");
    EXPECT_EQ(url_of("a", Scheme::kRtmp, kKey, "b.com", "?k=v"), "rtmp://a/live/s?vhost=b.com&k=v");
    EXPECT_EQ(url_of("a", Scheme::kHttp, kKey, "__defaultVhost__", ""), "http://a/live/s.flv?tracks=all");
    EXPECT_EQ(url_of("a", Scheme::kHttps, kKey, "b.com", "?k=v"), "https://a/live/s.flv?vhost=b.com&tracks=all&k=v");
    EXPECT_EQ(url_of("http://a", Scheme::kRtmp, {"v", "a/b", "x y"}, "__defaultVhost__", ""),
              "http://a/a/b/x%20y.flv?tracks=all")
        << "the origin's own scheme wins";
    std::string many = "?a";
    for (int i = 0; i < 100; ++i) many += "&a";
    const std::string url = url_of("http://a", Scheme::kRtmp, kKey, "b.com", many.c_str());
    EXPECT_EQ(http::find_parameter(http::parse_query(url.substr(url.find('?') + 1)), "vhost"), "b.com")
        << "a receiver that reads only some parameters reads ours";
    auto source = target_of(*parse_origin("a"), Scheme::kRtmp, kKey, "b.com", "?secret=1");
    ASSERT_TRUE(source);
    EXPECT_EQ(source->shown, "rtmp://a/live/s") << "parameters are not for the log";
}

// An origin that has no __defaultVhost__ decides at connect.
TEST(Origin, IsToldTheVhostAtConnect) {
    const auto tc_url = [](const char* origin, Scheme scheme, const char* vhost) {
        return target_of(*parse_origin(origin), scheme, kKey, vhost, "?k=v")->tc_url;
    };
    EXPECT_EQ(tc_url("a:1936", Scheme::kRtmp, "b.com"), "rtmp://b.com:1936/live");
    EXPECT_EQ(tc_url("a", Scheme::kRtmps, "b.com"), "rtmps://b.com/live");
    EXPECT_EQ(tc_url("a", Scheme::kRtmp, "__defaultVhost__"), "") << "that of the URL";
    EXPECT_EQ(tc_url("a", Scheme::kHttp, "b.com"), "");
    const relay::Target source = *target_of(*parse_origin("a"), Scheme::kRtmp, kKey, "b.com", "");
    const auto there = ::rtmp::resolve_stream(source.tc_url, "live", "s?vhost=b.com");
    ASSERT_TRUE(there);
    EXPECT_EQ(there->vhost, "b.com");
    EXPECT_EQ(relay::redirected(source, "rtmp://c/live/s")->tc_url, "") << "another server knows what its URL means";
}

TEST(Origin, NamesSelectNoOtherVhost) {
    const std::pair<const char*, const char*> names[] = {{"live", "s?vhost=private"},
                                                         {"live...vhost...private", "s"},
                                                         {"live?vhost=private", "s"},
                                                         {"live", "s?k=v"},
                                                         {"live", "a/b"},
                                                         {"", "s"},
                                                         {"live", ""}};
    for (const char* vhost : {"__defaultVhost__", "b.com"})
        for (const auto& [app, name] : names)
            EXPECT_FALSE(target_of(*parse_origin("a:1936"), Scheme::kRtmp, {"v", app, name}, vhost, ""))
                << vhost << " " << app << "/" << name;
    EXPECT_FALSE(target_of(*parse_origin("a"), Scheme::kRtmp, kKey, "__defaultVhost__", "?vhost=private"))
        << "params_for_origin() removes it";
    for (const char* origin : {"[::1]:1936", "[::1]", "rtmps://a", "A.Example:1"})
        EXPECT_TRUE(target_of(*parse_origin(origin), Scheme::kRtmp, kKey, "__defaultVhost__", "?k=v")) << origin;
}

TEST(Origin, IsTheSameAsAnother) {
    EXPECT_TRUE(is_same_origin("a", "a:1935", Scheme::kRtmp));
    EXPECT_TRUE(is_same_origin("rtmp://[::1]:1936", "[::1]:1936", Scheme::kRtmp));
    EXPECT_TRUE(is_same_origin("http://a:80", "a", Scheme::kHttp));
    EXPECT_TRUE(is_same_origin("https://a", "a:443", Scheme::kHttps));
    EXPECT_FALSE(is_same_origin("rtmp://a:1935", "a:1935", Scheme::kHttp)) << "by another protocol";
    EXPECT_FALSE(is_same_origin("a:1935", "a:1936", Scheme::kRtmp));
    EXPECT_FALSE(is_same_origin("a/b", "a/b", Scheme::kRtmp)) << "no origin at all";
}

TEST(Origin, Redirects) {
    const relay::Target rtmp = *target_of(*parse_origin("a"), Scheme::kRtmp, kKey, "__defaultVhost__", "");
    const relay::Target flv = *target_of(*parse_origin("a:8080"), Scheme::kHttp, kKey, "__defaultVhost__", "");
    struct Case {
        const relay::Target& from;
        const char* location;
        const char* url;  // null: refused
    };
    const Case cases[] = {
        {rtmp, "rtmp://b:1936/live/s?k=v", "rtmp://b:1936/live/s?k=v"},
        {rtmp, "rtmps://b/live/s", "rtmps://b/live/s"},
        {rtmp, "http://b/live/s.flv", nullptr},
        {rtmp, "rtmp://b", nullptr},
        {rtmp, "b/live/s", nullptr},
        {rtmp, "rtmp://b/live/s\r\nx", nullptr},
        {flv, "http://b/x.flv?k", "http://b/x.flv?k"},
        {flv, "https://b/x.flv", "https://b/x.flv"},
        {flv, "/other/s.flv", "http://a:8080/other/s.flv"},
        {flv, "//b/s.flv", nullptr},
        {flv, "rtmp://b/live/s", nullptr},
        {flv, "ftp://b/s", nullptr},
        {flv, "", nullptr},
    };
    for (const Case& c : cases) {
        auto to = relay::redirected(c.from, c.location);
        if (!c.url) {
            EXPECT_FALSE(to) << c.location;
        } else {
            ASSERT_TRUE(to) << c.location << ": " << to.error().text();
            EXPECT_EQ(to->url, c.url);
        }
    }
    EXPECT_FALSE(redirected(flv, "http://b/" + std::string(5000, 'x')));
}

}  // namespace
}  // namespace service::edge
