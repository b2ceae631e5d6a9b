#include "server/why/target.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/test_util.h"
#include "server/sections_testing.h"

namespace server::why {
namespace {

config::SnapshotPtr snapshot_for_targets() {
    static const config::SnapshotPtr kSnapshot = [] {
        CHECK(kSectionsAdded);
        return config::load_text(
                   "listen 1935; vhost __defaultVhost__ { http_remux { enabled on; } hls { enabled on; } }\n"
                   "vhost a.com { http_remux { enabled on; mount a.com/x/[app]/[stream].flv; } }\n"
                   "vhost s.com { hls { enabled on; } http_static { enabled on; mount [vhost]/files; dir "
                   "./objs/nginx/html; } }\n"
                   "srt_server { enabled on; default_app app1; }\n")
            .snapshot;
    }();
    return kSnapshot;
}

// "rtmp play 1935 h live/cam ?k=v".
std::string resolved(std::string_view url, bool publishes = false) {
    const auto snapshot = snapshot_for_targets();
    const auto target = resolve(url, publishes, *snapshot);
    if (!target) return "error: " + target.error().text();
    return fmt::format("{} {} {}:{} {} {}/{} {}{}{}", name_of(*target), net::action_name(target->action), target->host,
                       target->port, target->vhost, target->app, target->stream, target->param,
                       target->is_mounted ? "" : " not mounted", target->is_page ? " page" : "");
}

TEST(WhyTarget, EachProtocol) {
    const struct {
        const char* url;
        const char* target;
    } kCases[] = {
        {"rtmp://h/live/cam?k=v", "RTMP play h:1935 h live/cam ?k=v"},
        {"RTMP://h/live/cam?vhost=a.com", "RTMP play h:1935 a.com live/cam "},
        {"rtmps://h:8443/a/b/cam", "RTMPS play h:8443 h a/b/cam "},
        {"http://h:8080/live/cam.flv?k=v", "HTTP-FLV play h:8080 h live/cam ?k=v"},
        {"https://h/live/cam.ts", "HTTP-TS play h:443 h live/cam "},
        {"wss://h/live/cam.flv", "WebSocket-FLV play h:443 h live/cam "},
        {"http://h/live/cam.aac", "HTTP-AAC play h:80 h live/cam "},
        {"http://h/live/cam.m3u8", "HLS play h:80 h live/cam "},
        {"http://h/live/cam.mpd", "DASH play h:80 h live/cam "},
        {"http://s.com/files/live/cam.m3u8", "HLS play s.com:80 s.com live/cam "},
        {"http://h/cam.flv", "HTTP-FLV play h:80 h /cam  not mounted"},
        {"http://a.com/live/cam.flv", "HTTP-FLV play a.com:80 a.com live/cam  not mounted"},
        {"http://a.com/x/live/cam.flv", "HTTP-FLV play a.com:80 a.com live/cam "},
        {"webrtc://h/live/cam", "WebRTC play h:1985 h live/cam "},
        {"webrtc://h:1990/live/cam?schema=https", "WebRTC play h:1990 h live/cam ?schema=https"},
        {"http://h:1985/rtc/v1/whip/?app=live&stream=cam", "WebRTC publish h:1985 h live/cam ?app=live&stream=cam"},
        {"https://h/rtc/v1/whep/?stream=cam", "WebRTC play h:443 h live/cam ?stream=cam"},
        {"http://h/rtc/v1/whip-play/?stream=cam", "WebRTC play h:80 h live/cam ?stream=cam"},
        {"rtsp://u:p@h/live/cam/trackID=1", "RTSP play h:554 h live/cam "},
        {"rtsps://h/live/cam", "RTSPS play h:322 h live/cam "},
        {"srt://h:10080?streamid=#!::r=live/cam,m=request,k=v", "SRT play h:10080 __defaultVhost__ live/cam ?k=v"},
        {"srt://h:10080?streamid=%23!::h=a.com,r=live/cam,m=publish",
         "SRT publish h:10080 a.com live/cam ?vhost=a.com"},
        {"srt://h:8890?streamid=publish:live/cam:u:p", "SRT publish h:8890 __defaultVhost__ live/cam "},
        {"srt://h:8890?streamid=read:cam", "SRT play h:8890 __defaultVhost__ app1/cam "},
        {"http://h:8080/players/?protocol=hls&app=live&stream=cam", "HLS play h:8080 h live/cam  page"},
        {"http://h:8080/players/?protocol=whep&stream=cam",
         "WebRTC play h:8080 h live/cam ?protocol=whep&stream=cam page"},
        {"http://h:8080/players/whip.html?stream=cam", "WebRTC publish h:8080 h live/cam ?stream=cam page"},
        {"http://h:8080/players/", "HTTP-FLV play h:8080 h live/livestream  page"},
        {"http://h/players/?url=ws%3A%2F%2Fo%3A81%2Flive%2Fcam.flv", "WebSocket-FLV play o:81 o live/cam  page"},
    };
    for (const auto& one : kCases) EXPECT_EQ(resolved(one.url), one.target) << one.url;
    EXPECT_EQ(resolved("rtmp://h/live/cam", true), "RTMP publish h:1935 h live/cam ");
}

TEST(WhyTarget, WhatNamesNoStream) {
    const struct {
        const char* url;
        const char* error;  // a part of it
    } kCases[] = {
        {"", "this is no URL"},
        {"live/cam", "this is no URL"},
        {"ftp://h/live/cam", "streams are at rtmp"},
        {"rtmp://h/live", "names no stream"},
        {"rtmp:///live/cam", "host"},
        {"rtsp://h/live", "stream"},
        {"http://h/", "names no stream"},
        {"http://h/live/cam.html", "names no stream"},
        {"http://h/../etc/x.flv", "path"},
        {"http://h/rtc/v1/play/", "streamurl"},
        {"http://h/players/?url=http%3A%2F%2Fh%2Fplayers%2F", "a page itself"},
        {"srt://h", "srt://HOST:PORT"},
        {"srt://h:1?streamid=#!::m=bidirectional,r=a/b", "stream id"},
        {"rtmp://h/live/a b", "spaces"},
    };
    for (const auto& one : kCases) {
        const std::string text = resolved(one.url);
        EXPECT_TRUE(text.starts_with("error: ")) << one.url << ": " << text;
        EXPECT_NE(text.find(one.error), std::string::npos) << one.url << ": " << text;
    }
    EXPECT_NE(resolved("rtmp://h/live/" + std::string(kMaxUrl, 'x')).find("at most"), std::string::npos);
}

// What a finding suggests is read as the same stream again, and has no secret.
TEST(WhyTarget, UrlsAreReadAsWhatTheyWereMadeOf) {
    for (const char* url :
         {"rtmp://h/live/cam?token=s3cret", "rtmps://h:8443/a/b/cam", "http://h:8080/live/cam.flv?token=s3cret",
          "wss://h/live/cam.flv", "http://h/live/cam.m3u8", "http://a.com:81/x/live/cam.ts",
          "http://h:8080/live/cam.flv?vhost=a.com", "rtsp://u:s3cret@h:8554/live/cam",
          "srt://h:10080?streamid=#!::h=a.com,r=live/cam,m=publish,u=x,s=s3cret",
          "http://h:1985/rtc/v1/whip/?app=live&stream=cam&token=s3cret"}) {
        const auto snapshot = snapshot_for_targets();
        const auto first = resolve(url, false, *snapshot);
        ASSERT_TRUE(first) << url;
        const std::string made = url_of(*first, *snapshot);
        EXPECT_EQ(made.find("s3cret"), std::string::npos) << made;
        const auto second = resolve(made, false, *snapshot);
        ASSERT_TRUE(second) << made;
        EXPECT_EQ(second->vhost, first->vhost) << made;
        EXPECT_EQ(second->app, first->app) << made;
        EXPECT_EQ(second->stream, first->stream) << made;
        EXPECT_EQ(second->port, first->port) << made;
        EXPECT_EQ(second->action, first->action) << made;
        EXPECT_EQ(name_of(*second), name_of(*first)) << made;
    }
}

}  // namespace
}  // namespace server::why
