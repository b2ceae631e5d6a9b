// Loading of configurations with the sections of all services.

#include <gtest/gtest.h>

#include "config/listing.h"
#include "config/load.h"
#include "config/test_util.h"
#include "server/sections_testing.h"
#include "service/forward/config.h"
#include "service/http_live/config.h"
#include "service/rtc/config.h"

namespace server {
namespace {

using namespace config;

struct ProblemCase {
    const char* text;
    const char* problems;  // all of them, one per line
};

class ProblemTest : public testing::TestWithParam<ProblemCase> {};

constexpr const char* kNoVhost =
    "configuration: warning: no vhost: every publish and play will be refused; `vhost __defaultVhost__ { }` serves "
    "every "
    "host\n";

TEST_P(ProblemTest, Says) {
    Loaded loaded = load_text(std::string("listen 1;") + GetParam().text);
    std::string text = described(loaded.problems);
    if (text.ends_with(kNoVhost)) text.resize(text.size() - std::string_view(kNoVhost).size());
    EXPECT_EQ(text, GetParam().problems);
    EXPECT_EQ(loaded.snapshot == nullptr, text.find(": error: ") != std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    All, ProblemTest,
    testing::Values(
        ProblemCase{"", ""},
        ProblemCase{"lisen 2;", "t.conf:1: error: unknown directive 'lisen'; did you mean 'listen'?\n"},
        ProblemCase{"max_conections 2;\ndaemn off;",
                    "t.conf:1: error: unknown directive 'max_conections'; did you mean 'max_connections'?\n"
                    "t.conf:2: error: unknown directive 'daemn'; did you mean 'daemon'?\n"},
        ProblemCase{"vhost v { play { mw_latncy 3; } }",
                    "t.conf:1: error: unknown directive 'vhost/play/mw_latncy'; did you mean 'mw_latency'?\n"},
        // No name is near, or the block is another one's.
        ProblemCase{"zebra on;", "t.conf:1: error: unknown directive 'zebra'\n"},
        ProblemCase{"hls { enabled on; }", "t.conf:1: error: 'hls' does not belong here; it belongs into a vhost\n"},
        ProblemCase{"vhost v { play { http_api { } } }",
                    "t.conf:1: error: 'http_api' does not belong into vhost/play; it belongs into no block\n"},
        ProblemCase{"// x\nvhost v { }", "t.conf:1: error: '//' begins no comment: write #\n"},
        ProblemCase{"max_connections 3 vhost v { }",
                    "t.conf:1: error: 'max_connections' takes integer, not a block; is a ; missing after it?\n"},
        ProblemCase{"vhost v { paly { } }", "t.conf:1: error: unknown block 'vhost/paly'; did you mean 'play'?\n"},
        ProblemCase{"http_server { gop_cache on; }",
                    "t.conf:1: error: 'gop_cache' does not belong into http_server; it belongs into vhost/play\n"},
        ProblemCase{"hls_fragment 3;",
                    "t.conf:1: error: 'hls_fragment' does not belong here; it belongs into vhost/hls\n"},
        // Repeated definitions: the last value of a directive counts, two blocks are merged.
        ProblemCase{"listen 2;", "t.conf:1: warning: 'listen' is already given at t.conf:1: this one counts\n"},
        ProblemCase{"\nrtmp { listen 2; }",
                    "t.conf:2: warning: 'listen' is already given at t.conf:1: this one counts\n"},
        ProblemCase{"\nrtmp { chunk_size 200; }\nchunk_size 300;",
                    "t.conf:3: warning: 'chunk_size' is already given at t.conf:2: this one counts\n"},
        ProblemCase{"vhost a { }\nvhost a { }",
                    "t.conf:2: error: vhost 'a' is already given at t.conf:1: two of one name are ambiguous\n"},
        ProblemCase{"vhost a { play { }\n play { } }",
                    "t.conf:2: warning: 'play' is already given at t.conf:1: what both give counts as here\n"},
        ProblemCase{"vhost a { gop_cache off;\n play { gop_cache on; } }",
                    "t.conf:1: warning: 'vhost/gop_cache' is the old name of vhost/play/gop_cache\n"
                    "t.conf:2: warning: 'gop_cache' is already given at t.conf:1: this one counts\n"},
        ProblemCase{"vhost a { play { atc on; } }\nvhost b { play { atc on; } }", ""},
        ProblemCase{"vhost a { http { enabled on; } }\nvhost b { http { enabled on; } }",
                    "t.conf:1: warning: 'vhost/http' is the old name of vhost/http_static\n"
                    "t.conf:2: warning: 'vhost/http' is the old name of vhost/http_static\n"},
        ProblemCase{"vhost { }", "t.conf:1: error: the block 'vhost' needs a name: vhost NAME { ... }\n"},
        ProblemCase{"vhost a b { }", "t.conf:1: error: the block 'vhost' takes one name, 2 were given\n"},
        ProblemCase{"vhost a;", "t.conf:1: error: 'vhost' is a block: vhost { ... }\n"},
        ProblemCase{"daemon { }", "t.conf:1: error: 'daemon' takes on|off, not a block\n"},
        ProblemCase{"http_server on { }",
                    "t.conf:1: error: the block 'http_server' takes no name ('on'); is a ; missing before it?\n"},
        ProblemCase{"daemon on\nutc_time on;",
                    "t.conf:1: error: daemon: takes one value, 3 were given; is a ; missing before 'utc_time' on a "
                    "later line?\n"},
        ProblemCase{"daemon\non\ntwice;",
                    "t.conf:1: error: daemon: takes one value, 2 were given (it goes on to line 3: is a ; missing?)\n"},
        // A directive that takes any number of words, and a block's name.
        ProblemCase{
            "rtc_server { candidate 192.0.2.1\nlisten 8000; }",
            "t.conf:1: warning: candidate has words of several lines; is a ; missing before 'listen' on a later "
            "line?\n"},
        ProblemCase{"vhost v { hls\nmin_latency on; }",
                    "t.conf:1: error: 'hls' is a block: hls { ... }; is a ; missing before 'min_latency' on a later "
                    "line?\n"},
        ProblemCase{"rtc_server { candidate 192.0.2.1\n192.0.2.2; }", ""},
        // What stays as it is in a pattern.
        ProblemCase{"vhost v { dvr { enabled on; dvr_path ./[app]/[streem].flv; } }",
                    "t.conf:1: warning: dvr_path has [streem], which is no variable and stays as it is; did you mean "
                    "'stream'?\n"},
        ProblemCase{"vhost v { dvr { dvr_path ./[app]/[streem].flv; } }", ""},
        ProblemCase{"vhost v { hls { enabled on; hls_path ./[app];\nhls_m3u8_file [stream]-[q].m3u8;\n"
                    "hls_ts_file [stream]-[seq]-[duration]-[2006].ts; } }",
                    "t.conf:2: warning: hls_m3u8_file has [q], which is no variable and stays as it is\n"
                    "t.conf:1: warning: hls_path has [app], which is no variable and stays as it is\n"},
        ProblemCase{"vhost v { exec { enabled on; publish ffmpeg -i [url] -lavfi split[a][b] -map [a] "
                    "> ./[app]-[nam].log; } }",
                    "t.conf:1: warning: publish has [nam], which is no variable and stays as it is\n"},
        ProblemCase{"vhost v { transcode { enabled on; engine e { enabled on; output rtmp://a/[app]/[strm]; } } }",
                    "t.conf:1: warning: transcode: the output of the engine 'e' has [strm], which is no variable and "
                    "stays as it is\n"},
        ProblemCase{"vhost v { forward { enabled on; destination rtmp://192.0.2.1/[ap]/[stream]; } }",
                    "t.conf:1: warning: destination has [ap], which is no variable and stays as it is; did you mean "
                    "'app'?\n"},
        ProblemCase{"vhost v { hls { enabled on; hls_fragment 10;\nhls_window 9.5; } }",
                    "t.conf:2: warning: hls_window 9.5 is below hls_fragment 10: it has no effect, the playlist has "
                    "three segments\n"},
        ProblemCase{"rtc_server { enabled on; listen 2; candidate 192.0.2.300 a.com lo 192.0.2.1:8000 [2001:db8::1]:80 "
                    "$IP media.example.com:99 192.0.2.1:70000; }",
                    "t.conf:1: warning: candidate: '192.0.2.300' is no address, interface or domain name, nor * or "
                    "$NAME: clients cannot use it\n"
                    "t.conf:1: warning: candidate: '192.0.2.1:70000' is no address, interface or domain name, nor * or "
                    "$NAME: clients cannot use it\n"},
        ProblemCase{"daemon;", "t.conf:1: error: daemon: a value is missing\n"},
        ProblemCase{"rtmps { enabled on; }",
                    "t.conf:1: error: rtmps is enabled without a listen, for example `listen 1443;`\n"},
        ProblemCase{"http_server { enabled on;\n listen 1; }",
                    "t.conf:2: error: http_server/listen 1 is already used by rtmp/listen at t.conf:1\n"},
        ProblemCase{"http_server { listen 1; }", ""},
        // Addresses that the system could not bind at the same time.
        ProblemCase{"exporter { enabled on; listen 127.0.0.1:1; }",
                    "t.conf:1: error: exporter/listen 127.0.0.1:1 is already used by rtmp/listen 1 at t.conf:1\n"},
        ProblemCase{"exporter { enabled on; listen [::1]:1; }",
                    "t.conf:1: error: exporter/listen [::1]:1 is already used by rtmp/listen 1 at t.conf:1\n"},
        ProblemCase{"exporter { enabled on; listen 0.0.0.0:2 127.0.0.1:2; }",
                    "t.conf:1: error: exporter/listen 127.0.0.1:2 is already used by exporter/listen 0.0.0.0:2 at "
                    "t.conf:1\n"},
        ProblemCase{"exporter { enabled on; listen [::]:2 [::0]:2; }",
                    "t.conf:1: error: exporter/listen [::0]:2 is already used by exporter/listen [::]:2 at t.conf:1\n"},
        ProblemCase{"rtc_server { enabled on; listen 1; }", ""},
        // One listener serves both.
        ProblemCase{"http_server { enabled on; listen 2; } http_api { enabled on; listen 2 3; }", ""},
        ProblemCase{"http_server { enabled on; listen 2; https { enabled on; listen 3; } }\n"
                    "http_api { enabled on; listen 2; https { enabled on; listen 3; } }",
                    ""},
        ProblemCase{"http_server { enabled on; listen 2; }\nhttp_api { enabled on; https { enabled on; listen 2; } }",
                    "t.conf:2: error: http_api/https/listen 2 is already used by http_server/listen at t.conf:1\n"},
        ProblemCase{"http_server { enabled on; listen 2; }\nhttp_api { enabled on; listen 2; crossdomain off; }",
                    "t.conf:2: error: http_api and http_server have one port: give both the same crossdomain\n"},
        ProblemCase{"http_server { https { enabled on; } }",
                    "t.conf:1: warning: https does nothing while http_server is not enabled\n"},
        // Accepted without effect.
        ProblemCase{
            "rtc_server { enabled on; reuseport 4; }\n"
            "vhost v { rtc { enabled on; nack_no_copy off;\nstun_strict_check on; } }\n"
            "vhost w { rtc { nack_no_copy off; } }",
            "t.conf:1: warning: reuseport 4 has no effect: one thread reads all datagrams, from one socket for each "
            "address\n"
            "t.conf:2: warning: nack_no_copy off has no effect: packets are always shared\n"
            "t.conf:3: warning: stun_strict_check on has no effect: STUN is always checked strictly\n"},
        ProblemCase{"rtc_server { enabled on; }\n"
                    "vhost v { rtc { enabled on;\nlayers_as_streams on; } }\n"
                    "vhost w { rtc { enabled on; layers_as_streams on; rtc_to_rtmp on; } }",
                    "t.conf:3: warning: layers_as_streams on is for players by WebRTC alone: for others rtc_to_rtmp "
                    "has to be on\n"},
        ProblemCase{"rtc_server { reuseport 4; }\nvhost v { }", ""},
        // Without effect: one warning per feature, after all others; none for directives that are switched off or have
        // the default.
        ProblemCase{"vhost a { hds { enabled on;\n hds_fragment 5; } }\nvhost b { gop_cache on; hds { enabled on; } }",
                    "t.conf:3: warning: 'vhost/gop_cache' is the old name of vhost/play/gop_cache\n"
                    "t.conf:1: warning: HDS is left out: its players went with Flash: no effect of vhost/hds/enabled, "
                    "vhost/hds/hds_fragment\n"},
        ProblemCase{"vhost a { hds { enabled off; hds_fragment 5; } }", ""},
        ProblemCase{"vhost a { hds { hds_fragment 5; } }", ""},
        ProblemCase{"vhost v { hls { enabled on; hls_keys on;\nhls_low_latency on; } }",
                    "t.conf:2: warning: hls_low_latency has no effect with hls_keys\n"},
        ProblemCase{"stats { network 0; }\nvhost a { hls { hls_acodec aac; hls_vcodec h264; } }", ""},
        ProblemCase{"disk { backend uring; direct off; }\nvhost a { }",
                    "t.conf:1: warning: writing by io_uring is left out: two worker threads write all files: no "
                    "effect of disk/backend, disk/direct\n"},
        ProblemCase{"disk { backend auto; direct on; }\nvhost a { }", ""},
        ProblemCase{
            "stream_caster { enabled on; caster mpegts_over_udp; output rtmp://127.0.0.1/live/s; listen 1; host z;\n"
            "tcp_enable on; rtp_port_min 1; rtp_port_max 2; wait_keyframe off; rtp_idle_timeout 3; }\nvhost "
            "__defaultVhost__ { }",
            "t.conf:1: warning: a part of stream_caster of SRS 4 is left out, as SRS has left it out: no effect "
            "of stream_caster/host, stream_caster/tcp_enable, stream_caster/rtp_port_min, "
            "stream_caster/rtp_port_max and 2 more\n"},
        ProblemCase{"vhost a { hls { hls_acodec an; } }",
                    "t.conf:1: warning: the choice of codecs for HLS is left out: segments have the stream's own "
                    "tracks: no effect of vhost/hls/hls_acodec\n"},
        ProblemCase{"stream_caster { enabled on; caster gb28181; sip { enabled on; any thing; } }\nvhost a { }",
                    "t.conf:1: warning: stream_caster without `listen PORT;`: no effect\n"
                    "t.conf:1: warning: the SIP of GB28181 is left out, as SRS has left it out: no effect of "
                    "stream_caster/sip\n"},
        // An edge needs origins.
        ProblemCase{"vhost a { cluster { mode remote; origin 127.0.0.1; } }", ""},
        ProblemCase{"vhost a { cluster { mode remote; } }",
                    "t.conf:1: error: vhost a is an edge (mode remote) without an origin\n"},
        ProblemCase{"vhost a { cluster { mode remote; origin http://a; token_traverse on; } }",
                    "t.conf:1: error: token_traverse needs an origin that takes RTMP\n"},
        // Without the context segments cannot be told from those of players that were refused.
        ProblemCase{"vhost a { cluster { mode remote; origin b; token_traverse on; } hls { enabled on; } }", ""},
        ProblemCase{
            "vhost a { cluster { mode remote; origin b; token_traverse on; } hls { enabled on; hls_ctx off; } }",
            "t.conf:1: warning: with token_traverse players get no segment of HLS unless hls_ctx and "
            "hls_ts_ctx are on in hls\n"},
        ProblemCase{
            "vhost a { cluster { mode remote; origin b; token_traverse on; } hls { enabled on; hls_ts_ctx off; } }",
            "t.conf:1: warning: with token_traverse players get no segment of HLS unless hls_ctx and hls_ts_ctx are on "
            "in hls\n"},
        ProblemCase{"vhost a { cluster { origin b; token_traverse on; } hls { enabled on; hls_ctx off; } }", ""},
        ProblemCase{"vhost a { cluster { mode remote; origin b; token_traverse on; } hls { hls_ctx off; } }", ""},
        ProblemCase{"vhost a { enabled off; cluster { mode remote; } }", ""},
        ProblemCase{"vhost a { cluster { origin_cluster on; coworkers 127.0.0.1:9091; } }", ""},
        ProblemCase{"vhost a { cluster { coworkers a/b; } }",
                    "t.conf:1: error: coworkers: 'a/b' is no address: write HOST:PORT\n"},
        ProblemCase{"redis { enabled on; } vhost a { cluster { mode remote; registry on; } }", ""},
        ProblemCase{"vhost a { cluster { registry on; } }",
                    "t.conf:1: error: vhost a has a registry, but the block redis is not enabled\n"},
        ProblemCase{"vhost a { enabled off; cluster { registry on; } }", ""},
        ProblemCase{"redis { enabled on; user u; }",
                    "t.conf:1: warning: redis has a user, but no password: there is no AUTH\n"},
        ProblemCase{"vhost a { cluster { mode local; } }", ""},
        // Forms of older files.
        ProblemCase{"vhost a { forward 10.0.0.1 10.0.0.2;\nrefer a.com;\nrefer_play b.com; }",
                    "t.conf:1: warning: 'vhost/forward ...;' is the old form of vhost/forward { enabled on; "
                    "destination ...; }\n"
                    "t.conf:2: warning: 'vhost/refer ...;' is the old form of vhost/refer { enabled on; all ...; }\n"
                    "t.conf:3: warning: 'vhost/refer_play ...;' is the old form of vhost/refer { enabled on; play "
                    "...; }\n"},
        ProblemCase{"vhost a { mr { enabled on; latency 9; speed 1; } }",
                    "t.conf:1: warning: 'vhost/mr/enabled' is the old name of vhost/publish/mr\n"
                    "t.conf:1: warning: 'vhost/mr/latency' is the old name of vhost/publish/mr_latency\n"
                    "t.conf:1: error: unknown directive 'vhost/mr/speed'\n"},
        // A switch with a stray word.
        ProblemCase{"daemon yes;", "t.conf:1: warning: daemon: 'yes' is neither on nor off: the default counts, on\n"},
        ProblemCase{"vhost a { security { enabled yes; } }", "t.conf:1: error: enabled: 'yes' is neither on nor off\n"},
        // HLS: no file that streams or segments would share, none outside of its directory.
        ProblemCase{
            "vhost a { hls { enabled on; hls_m3u8_file live.m3u8; } }",
            "t.conf:1: error: vhost/hls/hls_m3u8_file 'live.m3u8' must have [stream], or streams share a file\n"},
        ProblemCase{
            "vhost a { hls { enabled on; hls_ts_file [stream].ts; } }",
            "t.conf:1: error: vhost/hls/hls_ts_file '[stream].ts' must have [seq] or [timestamp], or segments share a "
            "file\n"},
        ProblemCase{
            "vhost a { hls { enabled on; hls_ts_file ../[stream]-[seq].ts; } }",
            "t.conf:1: error: vhost/hls/hls_ts_file '../[stream]-[seq].ts' must name a file below its directory\n"},
        ProblemCase{"vhost a { hls { enabled off; hls_m3u8_file live.m3u8; } }", ""},
        ProblemCase{"vhost a { hls { enabled off; hls_pth /x; } }",
                    "t.conf:1: error: unknown directive 'vhost/hls/hls_pth'; did you mean 'hls_path'?\n"},
        ProblemCase{"vhost a { hls { enabled maybe; hls_path; } }",
                    "t.conf:1: warning: enabled: 'maybe' is neither on nor off: the default counts, off\n"
                    "t.conf:1: error: hls_path: a value is missing\n"},
        ProblemCase{"vhost a { transcode { enabled off; engine x { vparams { any thing; b:a 1; } } } }", ""},
        ProblemCase{
            "vhost a { transcode live { enabled off; engine x { } engine y { } engine x { } } transcode { enabled "
            "off; } }",
            "t.conf:1: error: engine 'x' is already given at t.conf:1: two of one name are ambiguous\n"},
        ProblemCase{"vhost a { transcode { enabled on; engine { enabled on; vparams { any thing; } } } }",
                    "t.conf:1: warning: transcode: the engine '' has no output, and is left out\n"},
        ProblemCase{"stream_caster { enabled off; } stream_caster { enabled off; }", ""}));

TEST(Load, WithoutListenIsAnError) {
    Loaded loaded = load_text("vhost a { }");
    EXPECT_EQ(described(loaded.problems),
              "configuration: error: no listen: give the RTMP port, for example `listen 1935;` or SRS_LISTEN=1935\n");
}

TEST(Load, SaysOnlyThatTheFileIsMissing) {
    Loaded loaded = load({"x.conf", reader_of({}), {}});
    EXPECT_EQ(described(loaded.problems), "x.conf: error: no such file\n");
    EXPECT_EQ(loaded.snapshot, nullptr);
}

TEST(Load, FillsTheSnapshot) {
    Loaded loaded = load_text(
        "rtmp { listen 1935 127.0.0.1:19350; chunk_size 4096; }\n"
        "http_stream { enabled on; listen 8081; }\n"
        "vhost a.com { chunk_size 128; play { mw_latency 100; time_jitter zero; send_min_interval 10.5; } }\n"
        "vhost b.com { min_latency on; }\n"
        "vhost c.com { min_latency on; play { mw_latency 40; } }\n"
        "vhost d.com { enabled off; }\n"
        "vhost __defaultVhost__ { http_remux { enabled on; mount /[app]/[stream].flv; } }\n");
    ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
    const Snapshot& s = *loaded.snapshot;
    EXPECT_EQ(s.rtmp.listen, (ListenAddresses{{"", 1935}, {"127.0.0.1", 19350}}));
    EXPECT_TRUE(s.http_server.enabled);
    EXPECT_EQ(s.http_server.listen, (ListenAddresses{{"", 8081}}));
    ASSERT_EQ(s.vhosts.size(), 5u);
    EXPECT_EQ(s.vhost("a.com")->chunk_size, 128);
    EXPECT_EQ(s.vhost("a.com")->play.mw_latency, 100);
    EXPECT_EQ(s.vhost("a.com")->play.time_jitter, TimeJitter::kZero);
    EXPECT_EQ(s.vhost("a.com")->play.send_min_interval, 10.5);
    EXPECT_EQ(s.vhost("b.com")->chunk_size, 4096);
    EXPECT_EQ(s.vhost("b.com")->play.mw_latency, 0);
    EXPECT_EQ(s.vhost("c.com")->play.mw_latency, 40);
    EXPECT_EQ(s.vhost("d.com"), nullptr);  // disabled, and not replaced by the default vhost
    EXPECT_NE(s.find_vhost("d.com"), nullptr);
    EXPECT_EQ(s.vhost("other.com")->name, "__defaultVhost__");
    EXPECT_EQ(s.vhost("other.com")->get<service::http_live::VhostConfig>().mount, "/[app]/[stream].flv");
    EXPECT_EQ(s.vhost("a.com")->get<service::http_live::VhostConfig>().enabled, false);
}

TEST(Load, WithoutDefaultVhostAnUnknownHostHasNone) {
    Loaded loaded = load_text("listen 1; vhost a { }");
    EXPECT_EQ(loaded.snapshot->vhost("b"), nullptr);
}

TEST(Load, FromTheEnvironmentAlone) {
    Loaded loaded = load({"",
                          {},
                          {"SRS_LISTEN=1935 [::1]:1936", "PATH=/bin", "SRS_DAEMON=off", "SRS_VHOST_PLAY_ATC=on",
                           "SRS_SRS_LOG_TANK=console", "SRS_UTC_TIME="}});
    ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
    EXPECT_EQ(described(loaded.problems), "");
    EXPECT_EQ(loaded.snapshot->rtmp.listen.size(), 2u);
    EXPECT_FALSE(loaded.snapshot->global.daemon);
    EXPECT_EQ(loaded.snapshot->global.srs_log_tank, LogTank::kConsole);
    ASSERT_NE(loaded.snapshot->vhost("any"), nullptr);
    EXPECT_TRUE(loaded.snapshot->vhost("any")->play.atc);
}

TEST(Load, TheEnvironmentWinsAndSetsEveryVhost) {
    Loaded loaded = load_text("listen 1; vhost a { play { mw_latency 5; } } vhost b { }",
                              {"SRS_RTMP_LISTEN=2", "SRS_VHOST_PLAY_MW_LATENCY=7", "SRS_VHOST_CHUNK_SIZE=256"});
    ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
    EXPECT_EQ(loaded.snapshot->rtmp.listen[0].port, 2);
    for (const Vhost& vhost : loaded.snapshot->vhosts) {
        EXPECT_EQ(vhost.play.mw_latency, 7);
        EXPECT_EQ(vhost.chunk_size, 256);
    }
}

TEST(Load, AFileWithoutVhostGetsOneFromTheEnvironment) {
    EXPECT_TRUE(load_text("listen 1;").snapshot->vhosts.empty());
    EXPECT_NE(load_text("listen 1;", {"SRS_VHOST_HTTP_REMUX_ENABLED=on"}).snapshot->vhost("x"), nullptr);
}

TEST(Load, SaysWhatIsWrongInTheEnvironment) {
    Loaded loaded = load_text("listen 1; vhost a { } vhost b { }",
                              {"SRS_DEAMON=off", "SRS_VHOST_PLAY_MW_LATENCY=x", "SRS_VHOST_HDS_ENABLED=on",
                               "SRS_VHOST_DVR_ENABLED=off", "SRS_LISTEN=2", "SRS_RTMP_LISTEN=3"});
    EXPECT_EQ(described(loaded.problems),
              "SRS_DEAMON: warning: this environment variable sets no directive; did you mean 'SRS_DAEMON'?\n"
              "SRS_VHOST_PLAY_MW_LATENCY: error: 'x' is not a whole number\n"
              "SRS_RTMP_LISTEN: warning: sets the same directive as SRS_LISTEN, and wins\n"
              "SRS_VHOST_HDS_ENABLED: warning: HDS is left out: its players went with Flash: no effect of "
              "vhost/hds/enabled\n");
}

TEST(Load, LegacySyntaxCountsAsTodays) {
    Loaded loaded = load_text(
        "listen 1;\nvhost a {\n forward 10.0.0.1 10.0.0.2;\n refer a.com b.com; refer_publish c.com;\n mr { enabled "
        "on; "
        "latency 99; }\n nack { enabled off; } twcc { enabled off; }\n rtc { aac transcode; bframe keep; nack_no_copy "
        "on; "
        "}\n gop_cache_max_frames 7;\n}");
    ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
    const Vhost& vhost = loaded.snapshot->vhosts[0];
    using Texts = std::vector<std::string>;
    const auto& forward = vhost.get<service::forward::VhostConfig>();
    EXPECT_TRUE(forward.enabled);
    EXPECT_EQ(forward.destination, (Texts{"10.0.0.1", "10.0.0.2"}));
    EXPECT_TRUE(vhost.refer.enabled);
    EXPECT_EQ(vhost.refer.all, (Texts{"a.com", "b.com"}));
    EXPECT_EQ(vhost.refer.publish, Texts{"c.com"});
    EXPECT_TRUE(vhost.publish.mr);
    EXPECT_EQ(vhost.publish.mr_latency, 99);
    const auto& rtc = vhost.get<service::rtc::VhostConfig>();
    EXPECT_FALSE(rtc.nack);
    EXPECT_FALSE(rtc.twcc);
    EXPECT_TRUE(rtc.rtmp_to_rtc);
    EXPECT_TRUE(rtc.keep_bframe);
    EXPECT_EQ(vhost.play.gop_cache_max_frames, 7);
}

TEST(Load, OfADirectiveGivenTwiceTheLastCounts) {
    Loaded loaded = load_text("listen 1;\nlisten 2 3;\nvhost a { play { atc on; } play { atc off; mw_latency 5; } }");
    ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
    EXPECT_EQ(loaded.snapshot->rtmp.listen, (ListenAddresses{{"", 2}, {"", 3}}));
    EXPECT_FALSE(loaded.snapshot->vhosts[0].play.atc);
    EXPECT_EQ(loaded.snapshot->vhosts[0].play.mw_latency, 5);
    // The third occurrence names the second, not the first.
    EXPECT_NE(described(load_text("listen 1;\nlisten 2;\nlisten 3;").problems)
                  .find("t.conf:3: warning: 'listen' is already given at t.conf:2"),
              std::string::npos);
}

TEST(Load, FromTheEnvironmentAloneTheServerStaysInTheForeground) {
    Loaded loaded = load({"", {}, {"SRS_LISTEN=1"}});
    ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
    EXPECT_FALSE(loaded.snapshot->global.daemon);
    EXPECT_EQ(loaded.snapshot->global.srs_log_tank, LogTank::kConsole);
    loaded = load({"", {}, {"SRS_LISTEN=1", "SRS_DAEMON=on", "SRS_LOG_TANK=file", "SRS_CONFIG_FILE=x"}});
    ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
    EXPECT_TRUE(loaded.snapshot->global.daemon);
    EXPECT_EQ(loaded.snapshot->global.srs_log_tank, LogTank::kFile);
    EXPECT_EQ(described(loaded.problems), "");
}

TEST(Load, LogLevels) {
    using base::log::Level;
    auto level = [](const std::string& text) { return load_text("listen 1;" + text).snapshot->log_level(); };
    EXPECT_EQ(level(""), Level::kTrace);
    EXPECT_EQ(level("srs_log_level verbose;"), Level::kVerbose);
    EXPECT_EQ(level("srs_log_level warn; srs_log_level_v2 info;"), Level::kTrace);
    EXPECT_EQ(level("srs_log_level_v2 debug;"), Level::kInfo);
    EXPECT_EQ(level("srs_log_level_v2 trace;"), Level::kVerbose);
}

TEST(Load, TooManyProblemsAreCountedOnly) {
    std::string text = "listen 1;";
    for (int i = 0; i < 5000; ++i) text += "bogus" + std::to_string(i) + " 1;\n";
    Loaded loaded = load_text(text);
    EXPECT_EQ(loaded.problems.errors(), 5000u);
    EXPECT_EQ(loaded.problems.all().size(), Problems::kMax);
}

TEST(Load, DebugIsNotForStrangersWithoutAuth) {
    const auto load_api = [](const std::string& directives) {
        return described(
            load_text("listen 1; vhost a { }\nhttp_api { enabled on; debug on;\n" + directives + " }").problems);
    };
    EXPECT_EQ(load_api("listen 127.0.0.1:1985 [::1]:1985;"), "");
    EXPECT_EQ(load_api("auth { enabled on; username a; password b; }"), "");
    EXPECT_EQ(load_api("listen 1985;"),
              "t.conf:2: error: debug shows the inside of the server, and http_api/listen 1985 can be reached by "
              "others: give http_api an auth { enabled on; username ...; password ...; }, or let it listen on "
              "127.0.0.1:1985\n");
    EXPECT_NE(load_api("listen 192.0.2.1:1985;"), "");
    EXPECT_NE(load_api("listen 127.0.0.1:1985; https { enabled on; }").find("http_api/https/listen 1990"),
              std::string::npos);
    EXPECT_NE(load_api("auth { enabled on; username a; }").find("without a username and a password"),
              std::string::npos);
    // With the API off there is no problem to report.
    EXPECT_EQ(described(load_text("listen 1; vhost a { } http_api { debug on; }").problems), "");
}

TEST(Listing, SaysWhereValuesComeFrom) {
    Loaded loaded = load_text("listen 1;\nvhost a { play { atc on; } }", {"SRS_DAEMON=off"});
    std::string seen;
    for (const Listed& listed : list_directives(*loaded.snapshot)) {
        std::string path = listed.row->path();
        if (path == "rtmp/listen" || path == "daemon" || path == "vhost/play/atc" || path == "vhost/play/mw_latency")
            seen += listed.vhost + " " + path + "=" + listed.value + " " + listed.origin + "\n";
    }
    EXPECT_EQ(seen,
              " daemon=off SRS_DAEMON\n rtmp/listen=1 t.conf:1\n"
              "a vhost/play/atc=on t.conf:2\na vhost/play/mw_latency=350 default\n");
}

TEST(Snapshot, Default) {
    SnapshotPtr snapshot = default_snapshot();
    EXPECT_EQ(snapshot->rtmp.listen, (ListenAddresses{{"", 1935}}));
    EXPECT_EQ(snapshot->vhost("x")->chunk_size, 60000);
}

TEST(Load, RtcIsForLowLatencyUnlessToldOtherwise) {
    const std::string rtc = "listen 1; rtc_server { enabled on; } vhost a { rtc { enabled on; } ";
    Loaded loaded = load_text(rtc + "}");
    ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
    EXPECT_EQ(described(loaded.problems), "");
    EXPECT_TRUE(loaded.snapshot->vhosts[0].min_latency);
    EXPECT_EQ(loaded.snapshot->vhosts[0].play.mw_latency, 0);
    loaded = load_text(rtc + "min_latency off; play { mw_latency 350; } }");
    EXPECT_FALSE(loaded.snapshot->vhosts[0].min_latency);
    EXPECT_EQ(loaded.snapshot->vhosts[0].play.mw_latency, 350);
}

TEST(Load, LowLatencyHlsIsReadAtOnceUnlessToldOtherwise) {
    const auto of = [](const std::string& directives) {
        const auto loaded = load_text("listen 1; vhost a { hls { enabled on; hls_low_latency on; " + directives);
        EXPECT_TRUE(loaded.snapshot) << described(loaded.problems);
        return std::pair(loaded.snapshot->vhosts[0].min_latency, loaded.snapshot->vhosts[0].play.mw_latency);
    };
    EXPECT_EQ(of("} }"), std::pair(true, 350)) << "players of other protocols are sent to as ever";
    EXPECT_EQ(of("} min_latency off; }"), std::pair(false, 350));
    EXPECT_EQ(of("hls_keys on; } }"), std::pair(false, 350)) << "there are no parts";
}

TEST(Load, AnAddressOfEveryIpv6LeavesIpv4ToWhoIsNamedBesideIt) {
    struct Case {
        const char* text;
        const char* rtmp;  // with '!': IPv6 only
    };
    for (const Case& one : {Case{"listen 1935;", "1935"}, Case{"listen [::]:1935;", "[::]:1935"},
                            Case{"listen 1935 [::]:1935;", "0.0.0.0:1935 ![::]:1935"},
                            Case{"listen 0.0.0.0:1935 [::]:1935;", "0.0.0.0:1935 ![::]:1935"},
                            Case{"listen [::]:1935 192.0.2.1:1935;", "![::]:1935 192.0.2.1:1935"},
                            Case{"listen [::]:1935 1936;", "[::]:1935 1936"},
                            Case{"listen [::]:1935; exporter { enabled on; listen 1935; }", "![::]:1935"},
                            Case{"listen [::]:1935; rtc_server { enabled on; listen 1935; }", "[::]:1935"}}) {
        const Loaded loaded = load_text(one.text);
        ASSERT_TRUE(loaded.snapshot) << one.text << ": " << described(loaded.problems);
        std::string text;
        for (const ListenAddress& address : loaded.snapshot->rtmp.listen)
            text += (text.empty() ? "" : " ") + std::string(address.ipv6_only ? "!" : "") + address.text();
        EXPECT_EQ(text, one.rtmp) << one.text;
    }
}

TEST(Load, RtcSaysWhatDoesNotGoTogether) {
    auto said = [](const std::string& text) { return described(load_text(text).problems); };
    EXPECT_NE(said("listen 1; vhost a { rtc { enabled on; } }").find("does nothing while rtc_server is not enabled"),
              std::string::npos);
    EXPECT_NE(said("listen 1; rtc_server { enabled on; protocol tcp; }").find("error: protocol tcp needs"),
              std::string::npos);
    EXPECT_NE(said("listen 8000; rtc_server { enabled on; tcp { enabled on; } }").find("is already used by"),
              std::string::npos);
    EXPECT_NE(said("listen 1; rtc_server { black_hole { enabled on; } }").find("black_hole needs an addr"),
              std::string::npos);
    EXPECT_NE(said("listen 1; rtc_server { ice_server turn:h user; }").find("a username and a credential"),
              std::string::npos);
}

}  // namespace
}  // namespace server
