#include "server/why/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/test_util.h"
#include "server/sections_testing.h"
#include "server/why/read.h"
#include "server/why/target.h"

namespace server::why {
namespace {

using service::url::config_line;
using service::url::Live;
using service::url::PublishedStream;
using service::url::where_to;

constexpr const char* kHealthy =
    "listen 1935;\n"
    "http_server { enabled on; listen 8080; https { enabled on; listen 8088; } }\n"
    "http_api { enabled on; listen 1985; }\n"
    "rtc_server { enabled on; listen 8000; candidate 192.0.2.1; }\n"
    "rtsp_server { enabled on; listen 8554; }\n"
    "srt_server { enabled on; listen 10080; }\n"
    "rtmps { enabled on; listen 1443; }\n"
    "vhost __defaultVhost__ {\n"
    "    http_remux { enabled on; mount [vhost]/[app]/[stream].flv; }\n"
    "    hls { enabled on; }\n"
    "    dash { enabled on; }\n"
    "    rtc { enabled on; rtmp_to_rtc on; rtc_to_rtmp on; }\n"
    "    rtsp { enabled on; }\n"
    "    srt { enabled on; }\n";

struct Case {
    std::string name{};
    std::string url{};
    std::string more{};            // in the vhost
    std::string replaced{}, by{};  // in kHealthy
    void (*change)(Facts&) = nullptr;
    std::string check{};  // of the finding; empty: nothing is found
    Verdict verdict = Verdict::kBad;
    std::string text{}, line{}, fixed{};  // parts of them
    bool publishes = false;
};

Live live_with(PublishedStream stream) {
    Live live;
    live.published = {{"__defaultVhost__", "live", "livestream"}, {"__defaultVhost__", "live", "other"}};
    live.stream = std::move(stream);
    live.connections = 3;
    live.max_connections = 1000;
    live.listens = true;
    return live;
}

const PublishedStream kH264Aac{.by = "fmle-publish", .video = {media::Codec::kH264}, .audio = {media::Codec::kAac}};

std::string configuration_of(const Case& one) {
    std::string text = kHealthy;
    if (!one.replaced.empty()) {
        const size_t at = text.find(one.replaced);
        CHECK(at != text.npos);
        text.replace(at, one.replaced.size(), one.by);
    }
    return text + "    " + one.more + "\n}\n";
}

void no_publisher(Facts& f) { f.live->stream.reset(); }
void of_webrtc(Facts& f) { f.live->stream->is_rtp = true; }
void of_hevc(Facts& f) { f.live->stream->video = {media::Codec::kHevc}; }
void of_av1(Facts& f) { f.live->stream->video = {media::Codec::kAv1}; }
void with_b_frames(Facts& f) { f.live->stream->has_b_frames = true; }
void certificate_of(Facts& f, bool has_host, int64_t left_s) {
    f.certificate = {.error = "", .has_host = has_host, .not_after_s = f.now_s + left_s};
}

// One row for each finding.
const std::vector<Case>& cases() {
    static const std::vector<Case> kCases{
        {.name = "rtmp", .url = "rtmp://h/live/livestream"},
        {.name = "flv", .url = "http://h:8080/live/livestream.flv"},
        {.name = "hls", .url = "http://h:8080/live/livestream.m3u8"},
        {.name = "dash", .url = "http://h:8080/live/livestream.mpd"},
        {.name = "webrtc", .url = "webrtc://192.0.2.1/live/livestream"},
        {.name = "rtsp", .url = "rtsp://h:8554/live/livestream"},
        {.name = "srt", .url = "srt://h:10080?streamid=#!::r=live/livestream,m=request"},

        {.name = "http_off",
         .url = "http://h:8080/live/livestream.flv",
         .replaced = "http_server { enabled on",
         .by = "http_server { enabled off",
         .check = "protocol",
         .text = "not enabled",
         .line = "http_server { enabled on; }"},
        {.name = "rtsp_off",
         .url = "rtsp://h:8554/live/livestream",
         .replaced = "rtsp_server { enabled on",
         .by = "rtsp_server { enabled off",
         .check = "protocol",
         .line = "rtsp_server { enabled on; }"},
        {.name = "srt_off",
         .url = "srt://h:10080?streamid=#!::r=live/livestream",
         .replaced = "srt_server { enabled on",
         .by = "srt_server { enabled off",
         .check = "protocol",
         .line = "srt_server { enabled on; }"},
        {.name = "rtc_off",
         .url = "webrtc://192.0.2.1/live/livestream",
         .replaced = "rtc_server { enabled on",
         .by = "rtc_server { enabled off",
         .check = "protocol",
         .line = "rtc_server { enabled on; }"},
        {.name = "rtmps_off",
         .url = "rtmps://h:1443/live/livestream",
         .replaced = "rtmps { enabled on",
         .by = "rtmps { enabled off",
         .check = "protocol",
         .line = "rtmps { enabled on; }"},

        {.name = "wrong_port",
         .url = "http://h:1935/live/livestream.flv",
         .check = "port",
         .text = "the port of rtmp",
         .fixed = "http://h:8080/live/livestream.flv"},
        {.name = "no_port",
         .url = "http://h/live/livestream.flv",
         .check = "port",
         .text = "nothing of this server",
         .fixed = "http://h:8080/live/livestream.flv"},
        {.name = "loopback",
         .url = "rtmp://h/live/livestream",
         .replaced = "listen 1935",
         .by = "listen 127.0.0.1:1935",
         .check = "port",
         .text = "this machine alone",
         .line = "rtmp { listen 1935; }"},
        {.name = "not_listening",
         .url = "rtmp://h/live/livestream",
         .change = [](Facts& f) { f.live->listens = false; },
         .check = "port",
         .text = "nothing answers"},

        {.name = "vhost_unknown",
         .url = "rtmp://h/live/livestream",
         .replaced = "vhost __defaultVhost__",
         .by = "vhost a.com",
         .check = "vhost",
         .text = "there is no vhost h",
         .line = "vhost h { }"},
        {.name = "vhost_near",
         .url = "rtmp://b.com/live/livestream",
         .replaced = "vhost __defaultVhost__",
         .by = "vhost a.com",
         .check = "vhost",
         .text = "there is a.com"},
        {.name = "vhost_off",
         .url = "rtmp://h/live/livestream",
         .more = "enabled off;",
         .check = "vhost",
         .text = "not enabled",
         .line = "vhost __defaultVhost__ { enabled on; }"},
        {.name = "flv_off",
         .url = "http://h:8080/live/livestream.flv",
         .replaced = "http_remux { enabled on",
         .by = "http_remux { enabled off",
         .check = "protocol of the vhost",
         .line = "vhost __defaultVhost__ { http_remux { enabled on; } }"},
        {.name = "hls_off",
         .url = "http://h:8080/live/livestream.m3u8",
         .replaced = "hls { enabled on",
         .by = "hls { enabled off",
         .check = "protocol of the vhost",
         .line = "vhost __defaultVhost__ { hls { enabled on; } }"},
        {.name = "dash_off",
         .url = "http://h:8080/live/livestream.mpd",
         .replaced = "dash { enabled on",
         .by = "dash { enabled off",
         .check = "protocol of the vhost",
         .line = "vhost __defaultVhost__ { dash { enabled on; } }"},
        {.name = "rtc_of_vhost_off",
         .url = "webrtc://192.0.2.1/live/livestream",
         .replaced = "rtc { enabled on",
         .by = "rtc { enabled off",
         .check = "protocol of the vhost",
         .line = "vhost __defaultVhost__ { rtc { enabled on; } }"},
        {.name = "rtsp_publish_off",
         .url = "rtsp://h:8554/live/new",
         .more = "rtsp { publish off; }",
         .change = no_publisher,
         .check = "protocol of the vhost",
         .line = "vhost __defaultVhost__ { rtsp { publish on; } }",
         .publishes = true},
        {.name = "mount",
         .url = "http://h:8080/live/livestream.flv",
         .replaced = "mount [vhost]/[app]",
         .by = "mount [vhost]/x/[app]",
         .check = "path",
         .text = "no HTTP-FLV at such a path",
         .fixed = "http://h:8080/x/live/livestream.flv"},

        {.name = "denied",
         .url = "rtmp://h/live/livestream",
         .more = "security { enabled on; deny play 127.0.0.0/8; allow play all; }",
         .check = "address",
         .text = "denied by the rule deny play 127.0.0.0/8"},
        {.name = "not_allowed",
         .url = "rtmp://h/live/livestream",
         .more = "security { enabled on; allow play 10.0.0.0/8; }",
         .check = "address",
         .text = "allowed by none",
         .line = "vhost __defaultVhost__ { security { allow play 127.0.0.1; } }"},
        {.name = "refer",
         .url = "rtmp://h/live/livestream",
         .more = "refer { enabled on; play a.com; }",
         .change = [](Facts& f) { f.page = "https://b.com/x"; },
         .check = "refer",
         .text = "b.com is not allowed",
         .line = "refer { play a.com b.com; }"},
        {.name = "refer_all",
         .url = "rtmp://h/live/livestream",
         .more = "refer { enabled on; all a.com; }",
         .change = [](Facts& f) { f.page = "https://b.com/x"; },
         .check = "refer",
         .line = "refer { all a.com b.com; }"},
        {.name = "unsigned",
         .url = "rtmp://h/live/livestream",
         .more = "signed_urls { enabled on; secret 0123456789abcdef; } hls { hls_storage memory; }",
         .check = "signature",
         .line = "signed_urls { play off; }"},
        {.name = "signed_by_another",
         .url = "rtmp://h/live/livestream?expires=9999999999&sign=00",
         .more = "signed_urls { enabled on; secret 0123456789abcdef; } hls { hls_storage memory; }",
         .check = "signature",
         .text = "signature is wrong"},
        {.name = "passphrase",
         .url = "srt://h:10080?streamid=#!::r=live/livestream",
         .more = "srt { passphrase 0123456789; }",
         .check = "passphrase",
         .text = "the URL has none"},
        {.name = "other_passphrase",
         .url = "srt://h:10080?streamid=#!::r=live/livestream&passphrase=9876543210",
         .more = "srt { passphrase 0123456789; }",
         .check = "passphrase",
         .text = "another passphrase"},
        {.name = "rtsp_auth",
         .url = "rtsp://h:8554/live/livestream",
         .replaced = "listen 8554;",
         .by = "listen 8554; auth { enabled on; username u; password p; }",
         .check = "password",
         .text = "no name and password"},
        {.name = "hook",
         .url = "rtmp://h/live/livestream",
         .more = "http_hooks { enabled on; on_play http://127.0.0.1:8085/x?token=s3cret; }",
         .check = "hook",
         .verdict = Verdict::kUnknown,
         .text = "on_play asks http://127.0.0.1:8085/x,"},
        {.name = "hook_down",
         .url = "rtmp://h/live/livestream",
         .more = "http_hooks { enabled on; on_play http://127.0.0.1:8085/x; }",
         .change =
             [](Facts& f) {
                 f.live->failing_outputs = {
                     {"hook", "http://127.0.0.1:8085", service::StreamOutput::State::kFails, "refused"}};
             },
         .check = "hook",
         .text = "does not answer: refused",
         .line = "http_hooks { fail_open on_play; }"},
        {.name = "full",
         .url = "rtmp://h/live/livestream",
         .change = [](Facts& f) { f.live->connections = 1000; },
         .check = "limits",
         .text = "all 1000",
         .line = "max_connections 2000;"},
        {.name = "overload",
         .url = "rtmp://h/live/livestream",
         .change = [](Facts& f) { f.live->load = net::LoadLevel::kDying; },
         .check = "limits",
         .text = "overloaded"},

        {.name = "typo",
         .url = "rtmp://h/live/livestrem",
         .change = no_publisher,
         .check = "publisher",
         .text = "live/livestrem is not published, live/livestream is",
         .fixed = "rtmp://h/live/livestream"},
        {.name = "other_app",
         .url = "rtmp://h/lve/livestream",
         .change = no_publisher,
         .check = "publisher",
         .text = "lve/livestream is not published, live/livestream is",
         .fixed = "rtmp://h/live/livestream"},
        {.name = "other_vhost",
         .url = "rtmp://h/live/livestream",
         .change =
             [](Facts& f) {
                 no_publisher(f);
                 f.live->published = {{"a.com", "live", "livestream"}};
             },
         .check = "publisher",
         .text = "but in vhost a.com",
         .fixed = "rtmp://h/live/livestream?vhost=a.com"},
        {.name = "nothing_like_it",
         .url = "rtmp://h/live/zzzzzzzzz",
         .change = no_publisher,
         .check = "publisher",
         .text = "2 streams are published"},
        {.name = "origins_have_none",
         .url = "rtmp://h/live/x",
         .change =
             [](Facts& f) {
                 no_publisher(f);
                 f.live->fetching = service::Fetching::kRefused;
             },
         .check = "publisher",
         .text = "none of them has it"},
        {.name = "busy",
         .url = "rtmp://h/live/livestream",
         .check = "publisher",
         .text = "published already",
         .line = "vhost __defaultVhost__ { publish { takeover on; } }",
         .publishes = true},
        {.name = "takeover",
         .url = "rtmp://h/live/livestream",
         .more = "publish { takeover on; }",
         .check = "publisher",
         .verdict = Verdict::kWarn,
         .text = "takes it over",
         .publishes = true},

        {.name = "not_to_rtc",
         .url = "webrtc://192.0.2.1/live/livestream",
         .replaced = "rtmp_to_rtc on",
         .by = "rtmp_to_rtc off",
         .check = "conversion",
         .line = "vhost __defaultVhost__ { rtc { rtmp_to_rtc on; } }"},
        {.name = "not_from_rtc",
         .url = "rtmp://h/live/livestream",
         .replaced = "rtc_to_rtmp on",
         .by = "rtc_to_rtmp off",
         .change = of_webrtc,
         .check = "conversion",
         .line = "vhost __defaultVhost__ { rtc { rtc_to_rtmp on; } }"},
        {.name = "not_to_rtsp",
         .url = "rtsp://h:8554/live/livestream",
         .more = "rtsp { rtmp_to_rtsp off; }",
         .check = "conversion",
         .line = "vhost __defaultVhost__ { rtsp { rtmp_to_rtsp on; } }"},
        {.name = "hevc_by_flv",
         .url = "http://h:8080/live/livestream.flv",
         .change = of_hevc,
         .check = "codecs",
         .verdict = Verdict::kWarn,
         .text = "HEVC"},
        {.name = "hevc_by_webrtc",
         .url = "webrtc://192.0.2.1/live/livestream",
         .change = of_hevc,
         .check = "codecs",
         .verdict = Verdict::kWarn,
         .text = "HEVC"},
        {.name = "hevc_by_hls",
         .url = "http://h:8080/live/livestream.m3u8",
         .change = of_hevc,
         .check = "codecs",
         .verdict = Verdict::kWarn,
         .text = "HEVC",
         .line = "vhost __defaultVhost__ { hls { hls_use_fmp4 on; } }"},
        {.name = "flv_announces_no_audio",
         .url = "http://h:8080/live/livestream.flv",
         .more = "http_remux { guess_has_av off; has_audio off; }",
         .check = "codecs",
         .verdict = Verdict::kWarn,
         .text = "no audio",
         .line = "vhost __defaultVhost__ { http_remux { guess_has_av on; } }"},
        {.name = "page_of_parts",
         .url = "http://h:8080/players/?protocol=ll-hls&stream=livestream",
         .check = "latency",
         .verdict = Verdict::kWarn,
         .text = "whole segments of 10 s",
         .line = "vhost __defaultVhost__ { hls { hls_low_latency on; } }"},
        {.name = "page_of_the_console",
         .url = "http://h:8080/players/?protocol=hls&stream=livestream",
         .replaced = "listen 1935;",
         .by = "listen 1935; console { enabled off; }",
         .check = "page",
         .verdict = Verdict::kWarn,
         .text = "the console is off",
         .line = "console { enabled on; }"},
        {.name = "token_of_the_api",
         .url = "webrtc://192.0.2.1/live/livestream",
         .replaced = "http_api { enabled on;",
         .by = "http_api { enabled on; auth { enabled on; type bearer; token t0ken; rtc_bearer_enabled on; }",
         .check = "password",
         .verdict = Verdict::kUnknown,
         .text = "token of http_api's auth"},
        {.name = "mixed_content",
         .url = "ws://h:8080/live/livestream.flv",
         .change = [](Facts& f) { f.page = "https://a.com/x"; },
         .check = "page",
         .text = "load nothing by http://",
         .fixed = "wss://h:8088/live/livestream.flv"},
        {.name = "form_of_mediamtx",
         .url = "http://h:8080/live/livestream/index.m3u8",
         .change = no_publisher,
         .check = "publisher",
         .text = "live/livestream is",
         .fixed = "http://h:8080/live/livestream.m3u8"},
        {.name = "vhost_misspelt",
         .url = "rtmp://h/live/livestream",
         .replaced = "vhost __defaultVhost__",
         .by = "vhost defaultVhost",
         .check = "vhost",
         .text = "there is defaultVhost"},
        {.name = "other_process",
         .url = "rtmp://h/live/livestream",
         .change = [](Facts& f) { f.live->stream = PublishedStream{.is_of_other_process = true}; },
         .check = "publisher",
         .verdict = Verdict::kOk,
         .text = "in the other process"},
        {.name = "b_frames",
         .url = "webrtc://192.0.2.1/live/livestream",
         .change = with_b_frames,
         .check = "codecs",
         .verdict = Verdict::kWarn,
         .text = "B-frames"},
        {.name = "av1_by_hls",
         .url = "http://h:8080/live/livestream.m3u8",
         .change = of_av1,
         .check = "codecs",
         .text = "AV1",
         .line = "vhost __defaultVhost__ { hls { hls_use_fmp4 on; } }"},
        {.name = "no_mp3", .url = "http://h:8080/live/livestream.mp3", .check = "codecs", .text = "no MP3 audio"},

        {.name = "private_candidate",
         .url = "webrtc://203.0.113.9/live/livestream",
         .replaced = "candidate 192.0.2.1",
         .by = "candidate 10.0.0.5; api_as_candidates off",
         .check = "candidates",
         .text = "10.0.0.5",
         .line = "rtc_server { candidate 203.0.113.9; }"},
        {.name = "loopback_media",
         .url = "webrtc://203.0.113.9/live/livestream",
         .replaced = "listen 8000",
         .by = "listen 127.0.0.1:8000",
         .check = "candidates",
         .line = "rtc_server { listen 8000; }"},

        {.name = "certificate_ended",
         .url = "https://h:8088/live/livestream.flv",
         .change = [](Facts& f) { certificate_of(f, true, -3 * 86'400); },
         .check = "certificate",
         .text = "3 days ago"},
        {.name = "certificate_of_another",
         .url = "https://h:8088/live/livestream.flv",
         .change = [](Facts& f) { certificate_of(f, false, 86'400 * 90); },
         .check = "certificate",
         .text = "not for h"},
        {.name = "certificate_ends",
         .url = "https://h:8088/live/livestream.flv",
         .change = [](Facts& f) { certificate_of(f, true, 3 * 86'400); },
         .check = "certificate",
         .verdict = Verdict::kWarn,
         .text = "in 3 days"},
        {.name = "no_camera",
         .url = "http://h:8080/players/whip.html?stream=new",
         .replaced = "https { enabled on",
         .by = "https { enabled off",
         .change = no_publisher,
         .check = "page",
         .line = "http_server { https { enabled on; } }"},
    };
    return kCases;
}

class WhyTest : public ::testing::TestWithParam<Case> {};

TEST_P(WhyTest, FindsIt) {
    const Case& one = GetParam();
    CHECK(kSectionsAdded);
    const auto loaded = config::load_text(configuration_of(one));
    ASSERT_TRUE(loaded.snapshot) << config::described(loaded.problems);
    auto target = resolve(one.url, one.publishes, *loaded.snapshot);
    ASSERT_TRUE(target) << target.error().text();
    Facts facts{.snapshot = *loaded.snapshot, .target = *std::move(target), .now_s = 1'000'000'000};
    facts.local = {{"eth0", "192.0.2.1", false}};
    facts.live = live_with(kH264Aac);
    if (one.change) one.change(facts);
    const Findings findings = evaluate(facts);
    std::string all;
    for (const Finding& f : findings) {
        all += fmt::format("{} {}: {} -> {} {} {}\n", service::verdict_name(f.verdict), f.check, f.text, f.line,
                           f.where, f.url);
        EXPECT_EQ(f.text.find("s3cret"), std::string::npos) << "no secret is shown";
        if (f.check == one.check || f.check == "host") continue;
        EXPECT_TRUE(f.verdict == Verdict::kOk) << "nothing else is found:\n" << all;
    }
    if (one.check.empty()) return;
    const auto found = std::ranges::find_if(
        findings, [&](const Finding& f) { return f.check == one.check && f.verdict == one.verdict; });
    ASSERT_NE(found, findings.end()) << all;
    EXPECT_NE(found->text.find(one.text), std::string::npos) << all;
    EXPECT_NE(found->line.find(one.line), std::string::npos) << all;
    EXPECT_NE(found->url.find(one.fixed), std::string::npos) << all;
    EXPECT_EQ(worst(findings), one.verdict == Verdict::kUnknown ? Verdict::kOk : one.verdict);
}

INSTANTIATE_TEST_SUITE_P(Each, WhyTest, ::testing::ValuesIn(cases()), [](const auto& info) { return info.param.name; });

TEST(Why, WithoutAServerTheConfigurationIsEvaluated) {
    const auto loaded = config::load_text(std::string(kHealthy) + "}\n");
    ASSERT_TRUE(loaded.snapshot);
    auto target = resolve("rtmp://h/live/x", false, *loaded.snapshot);
    ASSERT_TRUE(target);
    const Findings findings = evaluate({.snapshot = *loaded.snapshot, .target = *target});
    EXPECT_EQ(worst(findings), Verdict::kOk);
    EXPECT_TRUE(std::ranges::any_of(
        findings, [](const Finding& f) { return f.check == "publisher" && f.verdict == Verdict::kUnknown; }));
}

TEST(Why, LinesAreWrittenAsTheConfigurationIs) {
    CHECK(kSectionsAdded);
    const auto of_file = config::load_text("listen 1935;\nvhost a.com {\n    rtc { enabled off; }\n}\n").snapshot;
    ASSERT_TRUE(of_file);
    EXPECT_EQ(config_line(*of_file, "a.com", "vhost/rtc/enabled", "on"), "vhost a.com { rtc { enabled on; } }");
    EXPECT_EQ(config_line(*of_file, "", "max_connections", "5"), "max_connections 5;");
    EXPECT_EQ(where_to(*of_file, "a.com", "vhost/rtc/enabled"), "instead of t.conf:3");
    EXPECT_EQ(where_to(*of_file, "a.com", "vhost/hls/enabled"), "in the vhost around t.conf:3");
    EXPECT_EQ(where_to(*of_file, "", "http_api/enabled"), "");
    const auto of_environment = config::load({"", {}, {"SRS_LISTEN=1935", "SRS_VHOST_HLS_ENABLED=off"}}).snapshot;
    ASSERT_TRUE(of_environment);
    EXPECT_EQ(config_line(*of_environment, "__defaultVhost__", "vhost/hls/enabled", "on"), "SRS_VHOST_HLS_ENABLED=on");
}

// The URL and the page's address come from somebody who cannot play; the line is for the operator to copy.
TEST(Why, WhatOthersWroteIsNoConfiguration) {
    CHECK(kSectionsAdded);
    const auto refers =
        config::load_text("listen 1935;\nvhost a.com { refer { enabled on; play \"b c\"; } }\n").snapshot;
    ASSERT_TRUE(refers);
    struct Row {
        std::string vhost, page, check, line;
    };
    for (const auto& [vhost, page, check, line] :
         {Row{"x.com", "", "vhost", "vhost x.com { }"}, Row{"x { } include /etc/passwd;", "", "vhost", ""},
          Row{"$(reboot)", "", "vhost", ""}, Row{std::string(256, 'a'), "", "vhost", ""},
          Row{"a.com", "http://d.com/", "refer", "vhost a.com { refer { play \"b c\" d.com; } }"},
          Row{"a.com", "http://d;}include/", "refer", ""}, Row{"a.com", "http://$(reboot)/", "refer", ""}}) {
        auto target = resolve("rtmp://a.com/live/x", false, *refers);
        ASSERT_TRUE(target);
        target->vhost = vhost;
        const Findings findings = evaluate({.snapshot = *refers, .target = *target, .page = page});
        const auto found = std::ranges::find(findings, check, &Finding::check);
        ASSERT_NE(found, findings.end()) << vhost << " " << page;
        EXPECT_EQ(found->verdict, Verdict::kBad) << found->text;
        EXPECT_EQ(found->line, line);
    }
}

TEST(Why, FindsASocketInTheSystemsTables) {
    const std::string tcp =
        "  sl  local_address rem_address   st tx_queue rx_queue\n"
        "   0: 0100007F:078F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1\n"
        "   1: 0100007F:0790 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 2\n";
    EXPECT_TRUE(has_socket(tcp, 0x78f, true));
    EXPECT_FALSE(has_socket(tcp, 0x790, true)) << "a connection is no listener";
    EXPECT_FALSE(has_socket(tcp, 0x78f, false));
    EXPECT_FALSE(has_socket("", 1935, true));
}

}  // namespace
}  // namespace server::why
