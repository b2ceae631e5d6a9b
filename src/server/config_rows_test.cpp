// Every row, one line each: its default, accepted words, rejected words. Each row is then set by the file and by its
// environment variables.

#include <gtest/gtest.h>

#include <set>

#include "config/diff.h"
#include "config/directive.h"
#include "config/environment.h"
#include "config/listing.h"
#include "config/section.h"
#include "config/test_util.h"
#include "server/sections_testing.h"

namespace server {
namespace {

using namespace config;

struct Line {
    const char* path;
    const char* initial;
    std::vector<std::string> good;
    std::vector<std::string> bad;
};

const std::vector<std::string> kSwitchOn = {"off"}, kSwitchOff = {"on"};
const std::vector<std::string> kNoSwitch = {"on off", "''"};
const std::vector<std::string> kNoGuard = {"yes", "1", "on off", "ON", "''"};
const std::vector<std::string> kNoAddress = {"x", "0", "65536", "::1:80", "80 80", "1.2.3.4", "''"};
const std::vector<std::string> kNoNetwork = {"x", "10.0.0.0/33", "all", "10.0.0.0/8 none", "::/129", "''"};
const std::vector<std::string> kNoRule = {
    "all", "play", "watch all", "play 1.2.3", "play all publish", "play publish all", "10.0.0.0/8", "''"};
const std::vector<std::string> kNoText = {"''", "a b"};

const std::vector<std::string> kUrls = {"http://h/p", "http://a/1 https://b:8443/2?k=v"},
                               kNoUrls = {"''", "http://h ''"};

std::vector<std::string> no_integer(std::vector<std::string> outside) {
    for (const char* word : {"x", "1x", "1.5", "1 2", "''", "99999999999999999999"}) outside.push_back(word);
    return outside;
}

const std::vector<Line>& lines() {
    static const std::vector<Line> kLines = {
        {"server_id", "", {"srs-1"}, kNoText},
        {"pid", "./objs/srs.pid", {"/run/srs.pid", "'a b'"}, kNoText},
        {"srs_log_tank", "file", {"console"}, {"both", "''"}},
        {"srs_log_level", "trace", {"verbose", "info", "warn", "error", "off"}, {"loud", "''"}},
        {"srs_log_level_v2", "", {"trace", "debug", "info", "warn", "error", "off"}, {"verbose"}},
        {"srs_log_file", "./objs/srs.log", {"/var/log/srs.log"}, kNoText},
        {"max_connections", "1000", {"1", "1000000"}, no_integer({"0", "-1", "1000001"})},
        {"daemon", "on", kSwitchOn, kNoSwitch},
        {"utc_time", "off", kSwitchOff, kNoSwitch},
        {"pithy_print_ms", "10000", {"100", "3600000"}, no_integer({"99"})},
        {"work_dir", "./", {"/srv/media"}, kNoText},
        {"grace_start_wait", "2300", {"0", "3600000"}, no_integer({"-1"})},
        {"grace_limit", "600000", {"0", "86400000"}, no_integer({"-1"})},
        {"grace_final_wait", "3200", {"0", "3600000"}, no_integer({"-1"})},
        {"upgrade_limit", "43200", {"0", "31536000"}, no_integer({"-1"})},
        {"force_grace_quit", "off", kSwitchOff, kNoSwitch},
        {"inotify_auto_reload", "off", kSwitchOff, kNoSwitch},
        {"auto_reload_for_docker", "on", kSwitchOn, kNoSwitch},
        {"in_docker", "off", kSwitchOff, kNoSwitch},
        {"reuse_port", "off", kSwitchOff, kNoSwitch},
        {"disable_daemon_for_docker", "on", kSwitchOn, kNoSwitch},
        {"asprocess", "off", {}, kNoSwitch},  // on its own it conflicts with daemon
        {"sender_threads", "auto", {"0", "16"}, {"17", "-1", "''"}},
        {"sender_min_batch", "8", {"0", "1000"}, no_integer({"-1", "1001"})},
        {"empty_ip_ok", "on", kSwitchOn, kNoSwitch},
        {"is_full", "off", kSwitchOff, kNoSwitch},
        {"tcmalloc_release_rate", "0.8", {"0", "10"}, {"-1", "10.5", "x", "''"}},
        {"http_api/raw_api/enabled", "off", kSwitchOff, kNoSwitch},
        {"http_api/raw_api/allow_reload", "off", kSwitchOff, kNoSwitch},
        {"circuit_breaker/enabled", "on", kSwitchOn, kNoSwitch},
        {"circuit_breaker/high_threshold", "90", {"1", "100"}, no_integer({"0", "101"})},
        {"circuit_breaker/high_pulse", "2", {"1", "3600"}, no_integer({"0"})},
        {"circuit_breaker/critical_threshold", "95", {"1", "100"}, no_integer({"0", "101"})},
        {"circuit_breaker/critical_pulse", "1", {"2", "3600"}, no_integer({"0"})},
        {"circuit_breaker/dying_threshold", "99", {"1", "100"}, no_integer({"0", "101"})},
        {"circuit_breaker/dying_pulse", "5", {"1", "3600"}, no_integer({"0"})},
        {"waiting_timeout", "600000", {"0", "86400000"}, no_integer({"-1", "86400001"})},
        {"total_stream_memory", "0", {"1", "1000000"}, no_integer({"-1", "1000001"})},
        {"stall_warn", "50", {"0", "60000"}, no_integer({"-1", "60001"})},
        {"user", "", {"srs", "srs:media", "1000:1000"}, kNoText},
        {"trusted_proxies", "none", {"10.0.0.0/8", "192.0.2.1 2001:db8::/32"}, kNoNetwork},
        {"address_limits/connections", "-1", {"0", "1", "1000000"}, no_integer({"-2", "1000001"})},
        {"address_limits/rate", "100", {"0", "0.5", "100000"}, {"-1", "x", "100001", "''"}},
        {"address_limits/burst", "500", {"1", "1000000"}, no_integer({"0"})},
        {"address_limits/hls_viewers", "1000", {"0", "1", "10000000"}, no_integer({"-1", "10000001"})},
        {"address_limits/rtc_offers", "100", {"0", "1", "1000000"}, no_integer({"-1", "1000001"})},
        {"max_hls_viewers", "20000", {"1", "10000000"}, no_integer({"0", "10000001"})},
        {"max_waiting_players", "2000", {"1", "1000000"}, no_integer({"0", "1000001"})},
        {"max_waiting_requests", "20000", {"1", "10000000"}, no_integer({"0", "10000001"})},
        {"address_limits/waiting_requests", "2000", {"0", "1", "10000000"}, no_integer({"-1", "10000001"})},
        {"address_limits/waiting_players", "100", {"0", "1", "1000000"}, no_integer({"-1", "1000001"})},
        {"address_limits/input_memory", "64", {"0", "1", "1000000"}, no_integer({"-1", "1000001"})},
        {"address_limits/exempt", "127.0.0.0/8 ::1", {"none", "10.0.0.0/8", "192.0.2.1 2001:db8::/32"}, kNoNetwork},
        {"rtmp/listen", "", {"1935", "1935 127.0.0.1:1936 [::1]:1937"}, kNoAddress},
        {"rtmp/chunk_size", "60000", {"128", "16777215"}, no_integer({"0", "127", "16777216", "2147483648"})},
        {"rtmp/handshake_timeout", "10000", {"100", "600000"}, no_integer({"0"})},
        {"rtmps/enabled", "off", {}, kNoSwitch},
        {"rtmps/listen", "", {"1443", "127.0.0.1:1443"}, kNoAddress},
        {"rtmps/key", "./conf/server.key", {"/k"}, kNoText},
        {"rtmps/cert", "./conf/server.crt", {"/c"}, kNoText},
        {"http_server/enabled", "off", kSwitchOff, kNoSwitch},
        {"http_server/listen", "8080", {"80", "[::]:80 0.0.0.0:81"}, kNoAddress},
        {"http_server/dir", "./objs/nginx/html", {"/srv"}, kNoText},
        {"http_server/crossdomain", "on", kSwitchOn, kNoGuard},
        {"http_server/request_timeout", "10000", {"100", "600000"}, no_integer({"0"})},
        {"http_server/max_header_size", "16384", {"1024", "1048576"}, no_integer({"1023"})},
        {"http_server/body_timeout", "30000", {"100", "600000"}, no_integer({"99"})},
        {"http_server/idle_timeout", "60000", {"100", "3600000"}, no_integer({"99"})},
        {"http_server/write_timeout", "30000", {"100", "3600000"}, no_integer({"99"})},
        {"http_server/https/enabled", "off", kSwitchOff, kNoSwitch},
        {"http_server/https/listen", "8088", {"443"}, kNoAddress},
        {"http_server/https/key", "./conf/server.key", {"/k"}, kNoText},
        {"http_server/https/cert", "./conf/server.crt", {"/c"}, kNoText},
        {"http_server/https/http2", "on", kSwitchOn, kNoSwitch},
        {"http_api/enabled", "off", kSwitchOff, kNoSwitch},
        {"exporter/enabled", "off", kSwitchOff, kNoSwitch},
        {"exporter/listen", "9972", {"9973", "127.0.0.1:9972 [::1]:9972"}, kNoAddress},
        {"exporter/label", "", {"cn-beijing"}, kNoText},
        {"exporter/tag", "", {"cn-edge"}, kNoText},
        {"exporter/stream_limit", "200", {"0", "1", "100000"}, no_integer({"-1", "100001"})},
        {"http_api/listen", "1985", {"1986", "127.0.0.1:1985 [::1]:1985"}, kNoAddress},
        {"http_api/crossdomain", "on", kSwitchOn, kNoGuard},
        {"http_api/request_timeout", "10000", {"100", "600000"}, no_integer({"99"})},
        {"http_api/max_header_size", "16384", {"1024", "1048576"}, no_integer({"1023"})},
        {"http_api/body_timeout", "30000", {"100", "600000"}, no_integer({"99"})},
        {"http_api/idle_timeout", "60000", {"100", "3600000"}, no_integer({"99"})},
        {"http_api/write_timeout", "30000", {"100", "3600000"}, no_integer({"99"})},
        {"http_api/debug", "off", kSwitchOff, kNoSwitch},
        {"http_api/history_memory", "32", {"0", "10000"}, no_integer({"-1", "10001"})},
        {"http_api/auth/enabled", "off", kSwitchOff, kNoGuard},
        {"http_api/auth/username", "", {"admin"}, kNoText},
        {"http_api/auth/password", "", {"secret", "'a b'"}, kNoText},
        {"http_api/auth/tokens", "", {"0123456789abcdef", "0123456789abcdef fedcba9876543210"}, {"''"}},
        {"http_api/auth/read_tokens", "", {"0123456789abcdef"}, {"''"}},
        {"http_api/auth/type", "", {"basic", "bearer"}, {"digest"}},
        {"http_api/auth/token", "", {"srs-api-token"}, kNoText},
        {"http_api/auth/rtc_bearer_enabled", "off", kSwitchOff, kNoGuard},
        {"http_api/control/allow", "none", {"10.0.0.0/8", "192.0.2.1 2001:db8::/32"}, kNoNetwork},
        {"http_api/https/enabled", "off", kSwitchOff, kNoSwitch},
        {"http_api/https/listen", "1990", {"443"}, kNoAddress},
        {"http_api/https/key", "./conf/server.key", {"/k"}, kNoText},
        {"http_api/https/cert", "./conf/server.crt", {"/c"}, kNoText},
        {"http_api/https/http2", "on", kSwitchOn, kNoSwitch},
        {"disk/buffer", "262144", {"16384", "1048576"}, no_integer({"16383", "1048577"})},
        {"disk/flush", "1000", {"100", "3000"}, no_integer({"99", "3001"})},
        {"disk/file_limit", "33554432", {"1048576", "1073741824"}, no_integer({"1048575"})},
        {"disk/total_limit", "268435456", {"1048576", "2147483647"}, no_integer({"1048575"})},
        {"hls_roll", "./objs/hls.roll", {"/var/lib/srs/hls.roll"}, kNoText},
        {"dvr_journal", "./objs/dvr.journal", {"/var/lib/srs/dvr.journal"}, kNoText},
        {"hook_outbox", "./objs/hook.outbox", {"/var/lib/srs/hook.outbox"}, kNoText},
        {"vhost/enabled", "on", kSwitchOn, kNoGuard},
        {"vhost/min_latency", "off", kSwitchOff, kNoSwitch},
        {"vhost/tcp_nodelay", "off", kSwitchOff, kNoSwitch},
        {"vhost/chunk_size", "60000", {"128", "16777215"}, no_integer({"0", "127"})},
        {"vhost/in_ack_size", "0", {"1", "2000000000"}, no_integer({"-1"})},
        {"vhost/stream_memory", "256", {"4", "1000000"}, no_integer({"3", "1000001"})},
        {"vhost/out_ack_size", "2500000", {"0", "2000000000"}, no_integer({"-1"})},
        {"vhost/play/gop_cache", "on", kSwitchOn, kNoSwitch},
        {"vhost/play/gop_cache_max_frames", "2500", {"0", "1000000"}, no_integer({"-1"})},
        {"vhost/play/queue_length", "30", {"1", "3600"}, no_integer({"0"})},
        {"vhost/play/time_jitter", "full", {"zero", "off"}, {"on", "''"}},
        {"vhost/play/atc", "off", kSwitchOff, kNoSwitch},
        {"vhost/play/atc_auto", "off", kSwitchOff, kNoSwitch},
        {"vhost/play/mix_correct", "off", kSwitchOff, kNoSwitch},
        {"vhost/play/mw_latency", "350", {"0", "60000"}, no_integer({"-1", "60001"})},
        {"vhost/play/send_min_interval", "0", {"10.5", "10000"}, {"-1", "x", "10001", "''"}},
        {"vhost/play/reduce_sequence_header", "off", kSwitchOff, kNoSwitch},
        {"vhost/play/send_timeout", "30000", {"100", "3600000"}, no_integer({"0"})},
        {"vhost/play/rejoin_timeout", "30000", {"0", "86400000"}, no_integer({"-1"})},
        {"vhost/publish/mr", "off", kSwitchOff, kNoSwitch},
        {"vhost/publish/mr_latency", "350", {"0", "10000"}, no_integer({"-1"})},
        {"vhost/publish/firstpkt_timeout", "20000", {"100", "3600000"}, no_integer({"0"})},
        {"vhost/publish/normal_timeout", "5000", {"100", "3600000"}, no_integer({"0"})},
        {"vhost/publish/parse_sps", "on", kSwitchOn, kNoSwitch},
        {"vhost/publish/kickoff_for_idle", "0", {"1", "86400"}, no_integer({"-1"})},
        {"vhost/publish/takeover", "off", kSwitchOff, kNoSwitch},
        {"vhost/publish/standby", "off", {"on", "preempt"}, {"no", "1", "''"}},
        {"vhost/publish/standby_timeout", "2000", {"500", "3600000"}, no_integer({"499"})},
        {"vhost/publish/standby_max", "4", {"1", "16"}, no_integer({"0", "17"})},
        {"vhost/http_remux/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/http_remux/fast_cache", "0", {"30", "600"}, no_integer({"-1"})},
        {"vhost/http_remux/drop_if_not_match", "on", kSwitchOn, kNoSwitch},
        {"vhost/http_remux/has_audio", "on", kSwitchOn, kNoSwitch},
        {"vhost/http_remux/has_video", "on", kSwitchOn, kNoSwitch},
        {"vhost/http_remux/guess_has_av", "on", kSwitchOn, kNoSwitch},
        {"vhost/http_remux/mount", "[vhost]/[app]/[stream].flv", {"/[app]/[stream].flv"}, kNoText},
        {"vhost/http_remux/wait_publisher", "on", kSwitchOn, kNoSwitch},
        {"vhost/http_remux/wait_publisher_timeout", "30000", {"100", "600000"}, no_integer({"99", "600001"})},
        {"vhost/http_static/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/http_static/mount", "[vhost]/", {"[vhost]/hls"}, kNoText},
        {"vhost/http_static/dir", "./objs/nginx/html", {"/srv"}, kNoText},
        {"vhost/dvr/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/dvr/dvr_apply", "all", {"live/livestream", "live/a live/b"}, {"''", "live/a ''"}},
        {"vhost/dvr/dvr_plan", "session", {"segment"}, {"append", "''"}},
        {"vhost/dvr/dvr_path",
         "./objs/nginx/html/[app]/[stream].[timestamp].flv",
         {"/rec/[stream].flv", "/rec/[2006]/[01]/[stream].mp4"},
         kNoText},
        {"vhost/dvr/dvr_duration", "30", {"1", "86400"}, no_integer({"0", "86401"})},
        {"vhost/dvr/dvr_wait_keyframe", "on", kSwitchOn, kNoSwitch},
        {"vhost/dvr/time_jitter", "full", {"zero", "off"}, {"on", "''"}},
        {"vhost/dvr/dvr_keyframes", "2000", {"16", "65536"}, no_integer({"15", "65537"})},
        {"vhost/hls/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/hls/hls_use_fmp4", "off", kSwitchOff, kNoSwitch},
        {"vhost/hls/hls_fragment", "10", {"2", "0.5", "3600"}, {"0", "-1", "x", "3601", "''"}},
        {"vhost/hls/hls_td_ratio", "1", {"1.5", "100"}, {"0", "-1", "x", "101", "''"}},
        {"vhost/hls/hls_aof_ratio", "2.1", {"1", "100"}, {"0.9", "x", "101", "''"}},
        {"vhost/hls/hls_window", "60", {"1", "12.5", "86400"}, {"0", "-1", "x", "''"}},
        {"vhost/hls/hls_dvr_window", "0", {"60", "12.5", "604800"}, {"-1", "x", "604801", "''"}},
        {"vhost/hls/hls_wait_keyframe", "on", kSwitchOn, kNoSwitch},
        {"vhost/hls/hls_ts_floor", "off", kSwitchOff, kNoSwitch},
        {"vhost/hls/hls_dts_directly", "on", kSwitchOn, kNoSwitch},
        {"vhost/hls/hls_low_latency", "off", kSwitchOff, kNoSwitch},
        {"vhost/hls/hls_part", "333", {"100", "200", "5000"}, {"99", "5001", "-1", "x", "''"}},
        {"vhost/hls/hls_variants", "", {"live/x_1 live/x_2"}, {"''"}},
        {"vhost/hls/hls_storage", "disk", {"memory", "both"}, {"ram", "''"}},
        {"vhost/hls/hls_path", "./objs/nginx/html", {"/srv"}, kNoText},
        {"vhost/hls/hls_m3u8_file", "[app]/[stream].m3u8", {"[vhost]/[stream].m3u8"}, kNoText},
        {"vhost/hls/hls_ts_file", "[app]/[stream]-[seq].ts", {"[stream]/[timestamp].ts"}, kNoText},
        {"vhost/hls/hls_fmp4_file", "[app]/[stream]-[seq].m4s", {"[stream]/[seq].m4s"}, kNoText},
        {"vhost/hls/hls_init_file", "[app]/[stream]/init.mp4", {"[stream].mp4"}, kNoText},
        {"vhost/hls/hls_entry_prefix", "", {"http://cdn"}, kNoText},
        {"vhost/hls/hls_cleanup", "on", kSwitchOn, kNoSwitch},
        {"vhost/hls/hls_dispose", "120", {"0", "31536000"}, no_integer({"-1"})},
        {"vhost/hls/hls_recover", "on", kSwitchOn, kNoSwitch},
        {"vhost/hls/hls_on_error", "continue", {"ignore", "disconnect"}, {"stop", "''"}},
        {"vhost/hls/hls_ctx", "on", kSwitchOn, kNoSwitch},
        {"vhost/hls/hls_ts_ctx", "on", kSwitchOn, kNoSwitch},
        {"vhost/hls/hls_master_m3u8_path_relative", "off", kSwitchOff, kNoSwitch},
        {"vhost/hls/hls_keys", "off", kSwitchOff, kNoGuard},
        {"vhost/hls/hls_fragments_per_key", "5", {"1", "1000000"}, no_integer({"0"})},
        {"vhost/hls/hls_key_file", "", {"[stream]-[seq].key"}, kNoText},
        {"vhost/hls/hls_key_file_path", "", {"/srv/keys"}, kNoText},
        {"vhost/hls/hls_key_url", "", {"http://keys/"}, kNoText},
        {"vhost/hls/hls_nb_notify", "64", {"0", "16777216"}, no_integer({"-1"})},
        {"vhost/dash/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/dash/dash_fragment", "30", {"2", "0.5", "3600"}, {"0", "-1", "x", "3601", "''"}},
        {"vhost/dash/dash_update_period", "150", {"0.1", "1", "86400"}, {"0", "-1", "x", "''"}},
        {"vhost/dash/dash_timeshift", "300", {"1", "12.5", "86400"}, {"0", "-1", "x", "''"}},
        {"vhost/dash/dash_path", "./objs/nginx/html", {"/srv"}, kNoText},
        {"vhost/dash/dash_mpd_file", "[app]/[stream].mpd", {"[vhost]/[stream].mpd"}, kNoText},
        {"vhost/dash/dash_window_size", "5", {"3", "10000"}, no_integer({"2", "10001"})},
        {"vhost/dash/dash_cleanup", "on", kSwitchOn, kNoSwitch},
        {"vhost/dash/dash_dispose", "120", {"0", "31536000"}, no_integer({"-1"})},
        {"vhost/http_hooks/enabled", "off", kSwitchOff, kNoGuard},
        {"vhost/http_hooks/on_connect", "", kUrls, kNoUrls},
        {"vhost/http_hooks/on_close", "", kUrls, kNoUrls},
        {"vhost/http_hooks/on_publish", "", kUrls, kNoUrls},
        {"vhost/http_hooks/on_unpublish", "", kUrls, kNoUrls},
        {"vhost/http_hooks/on_play", "", kUrls, kNoUrls},
        {"vhost/http_hooks/on_stop", "", kUrls, kNoUrls},
        {"vhost/http_hooks/on_dvr", "", kUrls, kNoUrls},
        {"vhost/http_hooks/on_hls", "", kUrls, kNoUrls},
        {"vhost/http_hooks/on_hls_notify", "", kUrls, kNoUrls},
        {"vhost/http_hooks/on_standby", "", kUrls, kNoUrls},
        {"vhost/http_hooks/on_start", "", kUrls, kNoUrls},
        {"vhost/http_hooks/on_alert", "", kUrls, kNoUrls},
        {"vhost/http_hooks/timeout", "5000", {"10", "300000"}, no_integer({"0", "300001"})},
        {"vhost/http_hooks/retries", "3", {"0", "100"}, no_integer({"-1", "101"})},
        {"vhost/http_hooks/fail_open", "", {"on_play", "on_connect on_publish"}, {"''", "on_stop", "on_play all"}},
        {"vhost/http_hooks/on_failure", "deny", {"allow", "last"}, {"''", "open", "deny allow"}},
        {"vhost/http_hooks/outbox", "off", kSwitchOff, kNoSwitch},
        {"vhost/http_hooks/outbox_max_size", "32", {"1", "1024"}, no_integer({"0", "1025"})},
        {"vhost/http_hooks/outbox_max_age", "86400", {"1", "31536000"}, no_integer({"0", "31536001"})},
        {"vhost/http_hooks/outbox_concurrency", "32", {"1", "256"}, no_integer({"0", "257"})},
        {"vhost/http_hooks/outbox_batch", "1", {"2", "1000"}, no_integer({"0", "1001"})},
        {"vhost/http_hooks/secret", "", {"s3cret"}, kNoText},
        {"vhost/http_hooks/ca_file", "", {"/etc/ca.pem"}, kNoText},
        {"vhost/signed_urls/enabled", "off", {}, kNoGuard},
        {"vhost/signed_urls/secret", "", {"s3cret", "new old"}, {"''", "new ''"}},
        {"vhost/signed_urls/publish", "on", kSwitchOn, kNoSwitch},
        {"vhost/signed_urls/play", "on", kSwitchOn, kNoSwitch},
        {"console/enabled", "on", kSwitchOn, kNoSwitch},
        {"console/dir", "./objs/nginx/pages", {"/srv"}, kNoText},
        {"console/embed_sites", "*", {"none", "https://a.example http://*.b.example:*"}, {"''"}},
        {"access_log/enabled", "off", kSwitchOff, kNoSwitch},
        {"access_log/path", "./objs/access.log", {"/var/log/srs/access.log"}, kNoText},
        {"access_log/format", "json", {"clf"}, {"xml", "''"}},
        {"access_log/fields", "", {"ip", "time ip token"}, {"colour", "ip colour"}},
        {"audit_log/enabled", "off", kSwitchOff, kNoSwitch},
        {"audit_log/path", "./objs/audit.log", {"/var/log/srs/audit.log"}, kNoText},
        {"usage/enabled", "off", kSwitchOff, kNoSwitch},
        {"usage/path", "./objs/usage.txt", {"/var/lib/srs/usage.txt"}, kNoText},
        {"usage/days", "62", {"1", "3660"}, no_integer({"0", "3661"})},
        {"usage/rows", "10000", {"10", "1000000"}, no_integer({"9", "1000001"})},
        {"bandwidth_check/enabled", "off", kSwitchOff, kNoSwitch},
        {"bandwidth_check/max_kbps", "100000", {"100", "10000000"}, no_integer({"99", "10000001"})},
        {"bandwidth_check/in_all", "4", {"1", "64"}, no_integer({"0", "65"})},
        {"bandwidth_check/of_address", "1", {"2", "64"}, no_integer({"0", "65"})},
        {"bandwidth_check/per_minute", "4", {"1", "1000"}, no_integer({"0", "1001"})},
        {"bandwidth_check/duration", "40", {"5", "300"}, {"4", "301", "x", "''"}},
        {"bandwidth_check/max_size", "200", {"1", "10000"}, no_integer({"0", "10001"})},
        {"alerts/enabled", "on", kSwitchOn, kNoSwitch},
        {"alerts/publisher_gone", "60", {"0", "61", "86400"}, {"-1", "x", "86401", "''"}},
        {"alerts/keyframe_interval", "10", {"0", "11", "3600"}, {"-1", "x", "3601", "''"}},
        {"alerts/refused_logins", "20", {"0", "21", "1000000"}, {"-1", "x", "1000001", "''"}},
        {"alerts/loop_stalls", "2", {"0", "3", "100"}, {"-1", "x", "101", "''"}},
        {"alerts/certificate", "7", {"0", "8", "3650"}, {"-1", "x", "3651", "''"}},
        {"heartbeat/enabled", "off", kSwitchOff, kNoSwitch},
        {"heartbeat/interval", "9.9", {"0.1", "9.3", "86400"}, {"0", "-1", "x", "86401", "''"}},
        {"heartbeat/url",
         "http://127.0.0.1:8085/api/v1/servers",
         {"https://monitor.example/beat"},
         {"''", "a b", "ftp://h/"}},
        {"heartbeat/device_id", "", {"my-srs-device"}, kNoText},
        {"heartbeat/summaries", "off", kSwitchOff, kNoSwitch},
        {"heartbeat/ports", "off", kSwitchOff, kNoSwitch},
        {"heartbeat/auth/enabled", "off", kSwitchOff, kNoSwitch},
        {"heartbeat/auth/type", "", {"bearer"}, {"basic"}},
        {"heartbeat/auth/token", "", {"srs-api-token"}, kNoText},
        {"vhost/forward/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/forward/destination",
         "",
         {"127.0.0.1:1936 127.0.0.1:1937", "rtmps://h/a/[stream]", "h rtmp://[::1]:1",
          "srt://h:1 srt://h:2?latency=300&streamid=publish:[app]/[stream]"},
         {"''", ":1935", "h:x", "http://h/", "rtmp://h/a", "srt://h", "srt://h:1?latency=x"}},
        {"vhost/forward/backend", "", {"http://127.0.0.1:8085/api/v1/forward"}, {"''", "a b", "h:1/x"}},
        {"vhost/cluster/mode", "local", {}, {"edge", "''"}},  // remote needs an origin
        {"vhost/cluster/origin",
         "",
         {"127.0.0.1:1935 localhost:1935", "[::1]:1936", "rtmps://a http://b:8080",
          "srt://a:1 srt://a:2?passphrase=0123456789"},
         {"''", "ftp://a", "a/b", "a:x", "srt://a", "srt://a:1/live/s", "srt://a:1?passphrase=short"}},
        {"vhost/cluster/token_traverse", "off", kSwitchOff, kNoSwitch},
        {"vhost/cluster/vhost", "[vhost]", {"same.edge.srs.com"}, kNoText},
        {"vhost/cluster/debug_srs_upnode", "on", kSwitchOn, kNoSwitch},
        {"vhost/cluster/protocol", "rtmp", {"flv", "flvs"}, {"rtsp", "''"}},
        {"vhost/cluster/follow_client", "off", kSwitchOff, kNoSwitch},
        {"vhost/cluster/registry", "off", {}, kNoSwitch},  // it needs the block redis
        {"vhost/cluster/exclusive", "on", kSwitchOn, kNoSwitch},
        {"vhost/cluster/origin_cluster", "off", kSwitchOff, kNoSwitch},
        {"vhost/cluster/coworkers",
         "",
         {"127.0.0.1:9091 127.0.0.1:9092", "[::1]:1985", "api.example"},
         {"''", "a/b", "a:x", "http://a"}},
        {"vhost/cluster/redirect", "off", kSwitchOff, kNoSwitch},
        {"redis/enabled", "off", kSwitchOff, kNoSwitch},
        {"redis/server", "127.0.0.1:6379", {"redis.example", "[::1]:6380"}, {"''", "a:x", "redis://a", "a/0"}},
        {"redis/user", "", {"srs"}, kNoText},
        {"redis/password", "", {"secret"}, kNoText},
        {"redis/db", "0", {"1", "65535"}, no_integer({"-1", "65536"})},
        {"redis/key_prefix", "srs", {"live:eu"}, kNoText},
        {"redis/lease", "10", {"2", "3600"}, no_integer({"1", "3601"})},
        {"redis/timeout", "1000", {"50", "10000"}, no_integer({"49", "10001"})},
        {"redis/advertise",
         "",
         {"rtmp://192.0.2.1:1935 http://192.0.2.1:8080", "rtmps://[::1]", "https://a"},
         {"''", "a:1", "rtmp://a/b", "ftp://a"}},
        {"rtsp_server/enabled", "off", kSwitchOff, kNoSwitch},
        {"rtsp_server/listen", "554", {"8554", "127.0.0.1:8554 [::1]:8554"}, kNoAddress},
        {"rtsp_server/session_timeout", "60", {"5", "3600"}, no_integer({"4", "3601"})},
        {"rtsp_server/udp/enabled", "off", kSwitchOff, kNoSwitch},
        {"rtsp_server/udp/listen", "6970", {"8000", "127.0.0.1:6970"}, kNoAddress},
        {"rtsp_server/rtsps/enabled", "off", kSwitchOff, kNoSwitch},
        {"rtsp_server/rtsps/listen", "322", {"8322", "127.0.0.1:8322 [::1]:8322"}, kNoAddress},
        {"rtsp_server/rtsps/key", "./conf/server.key", {"./key.pem"}, kNoText},
        {"rtsp_server/rtsps/cert", "./conf/server.crt", {"./cert.pem"}, kNoText},
        {"rtsp_server/auth/enabled", "off", {}, kNoGuard},
        {"rtsp_server/auth/username", "", {"viewer"}, kNoText},
        {"rtsp_server/auth/password", "", {"secret"}, kNoText},
        {"rtsp_server/auth/methods", "all", {"digest", "basic"}, {"md5", "''"}},
        {"srt_server/enabled", "off", kSwitchOff, kNoSwitch},
        {"srt_server/listen", "10080", {"10081", "127.0.0.1:10080 [::1]:10080"}, kNoAddress},
        {"srt_server/latency", "120", {"0", "60000"}, no_integer({"-1", "60001"})},
        {"srt_server/recvlatency", "-1", {"0", "60000"}, no_integer({"-2", "60001"})},
        {"srt_server/peerlatency", "-1", {"0", "60000"}, no_integer({"-2", "60001"})},
        {"srt_server/tlpktdrop", "on", kSwitchOn, kNoSwitch},
        {"srt_server/tsbpdmode", "on", kSwitchOn, kNoSwitch},
        {"srt_server/maxbw", "-1", {"0", "1000000000"}, no_integer({"-2", "2000000001"})},
        {"srt_server/mss", "1500", {"400", "1400"}, no_integer({"399", "1501"})},
        {"srt_server/payloadsize", "1316", {"188", "1456"}, no_integer({"187", "1457"})},
        {"srt_server/connect_timeout", "3000", {"100", "60000"}, no_integer({"99", "60001"})},
        {"srt_server/peer_idle_timeout", "10000", {"500", "600000"}, no_integer({"499", "600001"})},
        {"srt_server/default_app", "live", {"x"}, kNoText},
        {"srt_server/default_streamid", "\"#!::r=live/livestream,m=request\"", {"x"}, kNoText},
        {"srt_server/default_mode", "request", {"publish"}, {"play", "''"}},
        {"srt_server/passphrase", "", {"a-long-secret"}, kNoText},
        {"srt_server/pbkeylen", "0", {"16", "24", "32"}, no_integer({"-1", "33"})},
        {"srt_server/recvbuf", "12058624", {"65536", "1000000000"}, no_integer({"65535", "1000000001"})},
        {"srt_server/sendbuf", "12058624", {"0", "1000000000"}, no_integer({"-1", "1000000001"})},
        {"srt_server/mix_correct", "on", kSwitchOn, kNoSwitch},
        {"srt_server/sei_filter", "on", kSwitchOn, kNoSwitch},
        {"srt_server/max_handshakes", "1000", {"1", "100000"}, no_integer({"0", "100001"})},
        {"vhost/srt/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/srt/srt_to_rtmp", "on", kSwitchOn, kNoSwitch},
        {"vhost/srt/passphrase", "", {"a-long-secret"}, kNoText},
        {"vhost/srt/passphrase_by_hook", "off", kSwitchOff, kNoSwitch},
        {"vhost/srt/pbkeylen", "0", {"16", "24", "32"}, no_integer({"-1", "33"})},
        {"vhost/rtsp/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/rtsp/publish", "on", kSwitchOn, kNoGuard},
        {"vhost/rtsp/rtmp_to_rtsp", "on", kSwitchOn, kNoSwitch},
        {"rtc_server/enabled", "off", kSwitchOff, kNoSwitch},
        {"rtc_server/listen", "8000", {"8001", "127.0.0.1:8000 [::1]:8000"}, kNoAddress},
        {"rtc_server/protocol", "udp", {"tcp", "all"}, {"sctp", "''"}},
        {"rtc_server/reuseport", "1", {"2", "64"}, no_integer({"0", "65"})},
        {"rtc_server/max_offers", "2000", {"1", "100000"}, no_integer({"0", "100001"})},
        {"rtc_server/tcp/enabled", "off", kSwitchOff, kNoSwitch},
        {"rtc_server/tcp/listen", "8000", {"8001", "127.0.0.1:8000 [::1]:8000"}, kNoAddress},
        {"rtc_server/candidate", "*", {"192.0.2.1", "192.0.2.1 2001:db8::1 eth0 media.example.com $IP"}, {"''"}},
        {"rtc_server/use_auto_detect_network_ip", "on", kSwitchOn, kNoSwitch},
        {"rtc_server/ip_family", "ipv4", {"ipv6", "all"}, {"ip4", "''"}},
        {"rtc_server/api_as_candidates", "on", kSwitchOn, kNoSwitch},
        {"rtc_server/resolve_api_domain", "on", kSwitchOn, kNoSwitch},
        {"rtc_server/keep_api_domain", "off", kSwitchOff, kNoSwitch},
        {"rtc_server/ice_server",
         "",
         {"stun:stun.example.org", "turn:h:3478 user secret stun:h"},
         {"''", "h", "turn:h", "turn:h user"}},
        {"rtc_server/ecdsa", "on", kSwitchOn, kNoSwitch},
        {"rtc_server/encrypt", "on", kSwitchOn, kNoGuard},
        {"rtc_server/merge_nalus", "off", kSwitchOff, kNoSwitch},
        {"rtc_server/black_hole/enabled", "off", {}, kNoSwitch},
        {"rtc_server/black_hole/addr", "", {"127.0.0.1:10000"}, kNoText},
        {"vhost/rtc/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/rtc/nack", "on", kSwitchOn, kNoSwitch},
        {"vhost/rtc/nack_prefer_rtx", "on", kSwitchOn, kNoSwitch},
        {"vhost/rtc/nack_no_copy", "on", kSwitchOn, kNoSwitch},
        {"vhost/rtc/twcc", "on", kSwitchOn, kNoSwitch},
        {"vhost/rtc/stun_timeout", "30", {"1", "3600"}, no_integer({"0", "3601"})},
        {"vhost/rtc/stun_strict_check", "off", kSwitchOff, kNoSwitch},
        {"vhost/rtc/dtls_role", "passive", {"active"}, {"actpass", "''"}},
        {"vhost/rtc/dtls_version", "auto", {"dtls1.0", "dtls1.2"}, {"1.2", "''"}},
        {"vhost/rtc/drop_for_pt", "0", {"96", "127"}, no_integer({"-1", "128"})},
        {"vhost/rtc/playout_delay", "600", {"0", "10000"}, no_integer({"-1", "10001"})},
        {"vhost/rtc/rtmp_to_rtc", "off", kSwitchOff, kNoSwitch},
        {"vhost/rtc/keep_bframe", "off", kSwitchOff, kNoSwitch},
        {"vhost/rtc/keep_avc_nalu_sei", "on", kSwitchOn, kNoSwitch},
        {"vhost/rtc/opus_bitrate", "48000", {"8000", "320000"}, no_integer({"7999", "320001"})},
        {"vhost/rtc/opus_ptime", "40", {"20", "60"}, {"10", "30", "x", "''"}},
        {"vhost/rtc/rtc_to_rtmp", "off", kSwitchOff, kNoSwitch},
        {"vhost/rtc/layers_as_streams", "off", kSwitchOff, kNoSwitch},
        {"vhost/rtc/pli_for_rtmp", "6", {"0.5", "60"}, {"0", "0.4", "61", "x", "''"}},
        {"vhost/rtc/aac_bitrate", "48000", {"8000", "320000"}, no_integer({"7999", "320001"})},
        {"vhost/rtc/init_rate_from_sdp", "off", kSwitchOff, kNoSwitch},
        {"vhost/rtc/keep_original_ssrc", "off", kSwitchOff, kNoSwitch},
        {"vhost/ingest/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/ingest/stream", "", {"live/cam"}, kNoText},
        {"vhost/ingest/ffmpeg", "", {"/usr/bin/ffmpeg"}, kNoText},
        {"vhost/ingest/input/type", "file", {"stream", "rtsp", "udp", "srt"}, {"rtmp", "''"}},
        {"vhost/ingest/input/url", "", {"rtsp://h/s"}, kNoText},
        {"vhost/ingest/input/transport", "auto", {"tcp", "udp"}, {"http", "''"}},
        {"vhost/ingest/input/methods", "all", {"digest", "basic"}, {"none", "''"}},
        {"vhost/ingest/input/on_demand", "off", kSwitchOff, kNoSwitch},
        {"vhost/ingest/engine/output", "", {"rtmp://h/live/cam"}, kNoText},
        {"vhost/ingest/engine/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/ingest/engine/iformat", "flv", {"off"}, kNoText},
        {"vhost/ingest/engine/vcodec", "", {"libx264", "h264_nvenc"}, kNoText},
        {"vhost/ingest/engine/vbitrate", "0", {"800", "1000000"}, no_integer({"-1", "1000001"})},
        {"vhost/ingest/engine/vfps", "0", {"25", "29.97"}, {"-1", "1001", "x", "''"}},
        {"vhost/ingest/engine/vwidth", "0", {"768"}, no_integer({"-1", "16385"})},
        {"vhost/ingest/engine/vheight", "0", {"320"}, no_integer({"-1", "16385"})},
        {"vhost/ingest/engine/vthreads", "1", {"0", "1024"}, no_integer({"-1", "1025"})},
        {"vhost/ingest/engine/vprofile", "", {"main"}, kNoText},
        {"vhost/ingest/engine/vpreset", "", {"medium"}, kNoText},
        {"vhost/ingest/engine/acodec", "", {"aac"}, kNoText},
        {"vhost/ingest/engine/abitrate", "0", {"70"}, no_integer({"-1", "1000001"})},
        {"vhost/ingest/engine/asample_rate", "0", {"44100"}, no_integer({"-1", "1000001"})},
        {"vhost/ingest/engine/achannels", "0", {"2"}, no_integer({"-1", "65"})},
        {"vhost/ingest/engine/oformat", "flv", {"off"}, kNoText},
        {"vhost/transcode/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/transcode/ffmpeg", "", {"/usr/bin/ffmpeg"}, kNoText},
        {"vhost/transcode/ladder", "on", kSwitchOn, kNoSwitch},
        {"vhost/transcode/keyframe_interval", "2", {"0", "0.5", "60"}, {"-1", "61", "x", "''"}},
        {"vhost/transcode/engine/output", "", {"rtmp://h/live/s"}, kNoText},
        {"vhost/transcode/engine/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/transcode/engine/iformat", "flv", {"off"}, kNoText},
        {"vhost/transcode/engine/vcodec", "", {"libx264", "h264_nvenc"}, kNoText},
        {"vhost/transcode/engine/vbitrate", "0", {"800", "1000000"}, no_integer({"-1", "1000001"})},
        {"vhost/transcode/engine/vfps", "0", {"25", "29.97"}, {"-1", "1001", "x", "''"}},
        {"vhost/transcode/engine/vwidth", "0", {"768"}, no_integer({"-1", "16385"})},
        {"vhost/transcode/engine/vheight", "0", {"320"}, no_integer({"-1", "16385"})},
        {"vhost/transcode/engine/vthreads", "1", {"0", "1024"}, no_integer({"-1", "1025"})},
        {"vhost/transcode/engine/vprofile", "", {"main"}, kNoText},
        {"vhost/transcode/engine/vpreset", "", {"medium"}, kNoText},
        {"vhost/transcode/engine/acodec", "", {"aac"}, kNoText},
        {"vhost/transcode/engine/abitrate", "0", {"70"}, no_integer({"-1", "1000001"})},
        {"vhost/transcode/engine/asample_rate", "0", {"44100"}, no_integer({"-1", "1000001"})},
        {"vhost/transcode/engine/achannels", "0", {"2"}, no_integer({"-1", "65"})},
        {"vhost/transcode/engine/oformat", "flv", {"off"}, kNoText},
        {"vhost/exec/enabled", "off", kSwitchOff, kNoSwitch},
        {"vhost/exec/publish", "", {"/bin/true", "/bin/a -b [url]"}, {"''"}},
        {"stream_caster/enabled", "off", kSwitchOn, kNoSwitch},
        {"stream_caster/caster", "", {"mpegts_over_udp", "flv", "gb28181"}, kNoText},
        {"stream_caster/output", "", {"rtmp://127.0.0.1/live/livestream", "rtmp://127.0.0.1/[app]/[stream]"}, kNoText},
        {"stream_caster/listen", "", {"8935", "239.1.1.1:8935", "8935 8936"}, {"0", "x", "65536", "''"}},
        {"stream_caster/interface", "", {"eth0"}, kNoText},
        {"stream_caster/source", "", {"192.0.2.7"}, kNoText},
        {"stream_caster/media_connect_timeout", "10", {"1", "3600"}, {"0", "3601", "x", "''"}},
        {"ff_log_dir", "./objs", {"/var/log/srs", "/dev/null"}, kNoText},
        {"ff_log_level", "info", {"error"}, kNoText},
        {"max_tools", "100", {"0", "1000"}, no_integer({"-1", "1001"})},
        {"vhost/security/enabled", "off", kSwitchOff, kNoGuard},
        {"vhost/security/allow", "", {"play all", "publish 10.0.0.0/8", "play 192.0.2.1 ::1 publish all"}, kNoRule},
        {"vhost/security/deny", "", {"publish all", "play 2001:db8::/32"}, kNoRule},
        {"vhost/refer/enabled", "off", kSwitchOff, kNoGuard},
        {"vhost/refer/all", "", {"example.com", "example.com example.org"}, {"''", "example.com ''"}},
        {"vhost/refer/publish", "", {"example.com"}, {"''"}},
        {"vhost/refer/play", "", {"example.com"}, {"''"}},
    };
    return kLines;
}

Loaded load_row(const Row& row, const std::string& text, std::vector<std::string> environment = {}) {
    if (row.path() != "rtmp/listen") environment.push_back("SRS_RTMP_LISTEN=1");
    std::string conf = text.empty() ? "vhost __defaultVhost__ { }" : conf_of(row.path(), text);
    return load_text(conf, std::move(environment));
}

std::string value_of(const Snapshot& snapshot, const Row& row) {
    const Vhost* vhost = row.in_vhost() ? snapshot.find_vhost(kDefaultVhost) : nullptr;
    return row.in_vhost() && !vhost ? "no vhost" : row.binding.get({&snapshot, vhost});
}

std::string unquoted(std::string text) {
    std::erase(text, '\'');
    return text;
}

class RowTest : public testing::TestWithParam<Line> {};

TEST_P(RowTest, HasItsDefault) {
    const Row* row = find_row(GetParam().path);
    ASSERT_NE(row, nullptr);
    ASSERT_TRUE(row->supported());
    if (row->path() != "vhost/chunk_size") {
        EXPECT_EQ(row->initial, GetParam().initial);
    }
    EXPECT_FALSE(row->doc.empty());
    if (row->path() == "rtmp/listen") return;  // it is required
    Loaded loaded = load_row(*row, "");
    ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
    EXPECT_EQ(value_of(*loaded.snapshot, *row), GetParam().initial);
}

TEST_P(RowTest, TakesGoodWords) {
    const Row* row = find_row(GetParam().path);
    for (const std::string& good : GetParam().good) {
        Loaded loaded = load_row(*row, good);
        ASSERT_TRUE(loaded.snapshot) << good << "\n" << described(loaded.problems);
        // The values of blocks of which there may be several are their service's: pull_config_test.cpp.
        if (in_named_block(*row)) continue;
        EXPECT_EQ(unquoted(value_of(*loaded.snapshot, *row)).find(unquoted(good)) == std::string::npos &&
                      value_of(*loaded.snapshot, *row) != "\"" + unquoted(good) + "\"",
                  false)
            << good << " became " << value_of(*loaded.snapshot, *row);
        EXPECT_EQ((loaded.snapshot->origins.count({row->in_vhost() ? std::string(kDefaultVhost) : "", row->path()})),
                  1u);
    }
}

TEST_P(RowTest, RefusesBadWordsWithTheirLine) {
    const Row* row = find_row(GetParam().path);
    ASSERT_FALSE(GetParam().bad.empty());
    std::string text = conf_of(row->path(), "X");
    int line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(text.find(" X;")), '\n'));
    for (const std::string& bad : GetParam().bad) {
        Loaded loaded = load_row(*row, bad);
        ASSERT_FALSE(loaded.snapshot) << bad;
        std::string start = "t.conf:" + std::to_string(line) + ": error: " + row->name + ": ";
        EXPECT_TRUE(described(loaded.problems).starts_with(start)) << described(loaded.problems);
    }
}

TEST_P(RowTest, IsSetByTheEnvironment) {
    const Row* row = find_row(GetParam().path);
    ASSERT_EQ(environment_names(*row).empty(), in_named_block(*row));
    for (const std::string& name : environment_names(*row)) {
        for (const std::string& good : GetParam().good) {
            Loaded loaded = load_row(*row, "", {name + "=" + unquoted(good)});
            ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
            std::string value = value_of(*loaded.snapshot, *row);
            EXPECT_TRUE(value == unquoted(good) || value == "\"" + unquoted(good) + "\"") << name << " made " << value;
        }
        Loaded loaded = load_row(*row, "", {name + "= "});
        const bool is_text = row->type == "text" && row->range.empty();
        // With a warning; a passphrase of no length is none.
        const bool takes_stray = GetParam().bad == kNoSwitch;
        if (row->name == "passphrase") continue;
        EXPECT_EQ(loaded.snapshot == nullptr, !is_text && !takes_stray) << name;
    }
}

TEST_P(RowTest, ShowsInTheReloadDifference) {
    const Row* row = find_row(GetParam().path);
    if (row->path() == "rtmp/listen" || in_named_block(*row)) return;
    Loaded before = load_row(*row, "");
    for (const std::string& good : GetParam().good) {
        Loaded after = load_row(*row, good);
        ASSERT_TRUE(before.snapshot && after.snapshot);
        Reload reload = plan_reload(*before.snapshot, *after.snapshot);
        bool came = row->in_vhost() != after.snapshot->vhosts.empty();
        ASSERT_FALSE(reload.changes.empty());
        EXPECT_TRUE(came);
        bool found = false;
        for (const Change& change : reload.changes) found |= change.row == row;
        EXPECT_TRUE(found) << good;
        bool took = value_of(*reload.snapshot, *row) == value_of(*after.snapshot, *row);
        EXPECT_EQ(took, row->apply == Apply::kLive) << good;
    }
}

INSTANTIATE_TEST_SUITE_P(All, RowTest, testing::ValuesIn(lines()), [](const auto& info) {
    std::string name = info.param.path;
    std::replace(name.begin(), name.end(), '/', '_');
    return name;
});

TEST(Rows, AStrayWordLeavesASwitchAtItsDefault) {
    for (const char* path : {"daemon", "utc_time", "vhost/play/gop_cache", "vhost/hls/enabled"}) {
        const Row* row = find_row(path);
        for (const char* stray : {"yes", "1", "ON"}) {
            Loaded loaded = load_row(*row, stray);
            ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
            EXPECT_EQ(value_of(*loaded.snapshot, *row), row->initial) << path << " " << stray;
            EXPECT_NE(described(loaded.problems).find("is neither on nor off"), std::string::npos) << path;
        }
    }
}

TEST(Rows, EverySupportedRowIsTestedAbove) {
    std::set<std::string> tested;
    for (const Line& line : lines()) EXPECT_TRUE(tested.insert(line.path).second) << line.path;
    for (const Row& row : rows()) EXPECT_EQ(tested.contains(row.path()), row.supported()) << row.path();
}

TEST(Rows, AreConsistent) {
    std::set<std::string> paths, names;
    for (const Row& row : rows()) {
        EXPECT_TRUE(paths.insert(row.path()).second) << row.path() << " occurs twice";
        EXPECT_TRUE(row.scope.empty() || find_block(row.scope)) << row.path() << " is in no block";
        EXPECT_TRUE(find_block(row.path()) == nullptr) << row.path() << " is a block too";
        EXPECT_FALSE(row.initial.empty() && row.example.empty())
            << row.path() << " has neither a default nor an example";
        EXPECT_TRUE(row.doc.ends_with('.')) << row.path();
        for (const std::string& name : environment_names(row)) {
            EXPECT_TRUE(names.insert(name).second) << name << " sets two directives";
        }
    }
    for (const Block& block : blocks()) {
        size_t slash = block.path.rfind('/');
        EXPECT_TRUE(slash == std::string::npos || find_block(block.path.substr(0, slash))) << block.path;
        EXPECT_TRUE(!block.free_form || block.missing || find_free_block(block.path)) << block.path;
    }
    for (const Alias& alias : aliases()) {
        EXPECT_TRUE(find_row(alias.to) || find_block(alias.to)) << alias.to;
        EXPECT_FALSE(find_row(alias.from) || find_block(alias.from)) << alias.from;
    }
}

// Names required for compatibility beside the rule: SRS_LISTEN, and SRS_LOG_TANK as well as SRS_SRS_LOG_TANK.
TEST(Rows, EnvironmentNames) {
    using Names = std::vector<std::string>;
    EXPECT_EQ(environment_names(*find_row("rtmp/listen")), (Names{"SRS_LISTEN", "SRS_RTMP_LISTEN"}));
    EXPECT_EQ(environment_names(*find_row("srs_log_tank")), (Names{"SRS_LOG_TANK", "SRS_SRS_LOG_TANK"}));
    EXPECT_EQ(environment_names(*find_row("daemon")), (Names{"SRS_DAEMON"}));
    EXPECT_EQ(environment_names(*find_row("vhost/hls/hls_fragment")),
              (Names{"SRS_VHOST_HLS_HLS_FRAGMENT", "SRS_VHOST_HLS_FRAGMENT"}));
    EXPECT_EQ(environment_names(*find_row("vhost/srt/srt_to_rtmp")),
              (Names{"SRS_VHOST_SRT_SRT_TO_RTMP", "SRS_VHOST_SRT_TO_RTMP"}));
    EXPECT_EQ(environment_names(*find_row("rtc_server/tcp/listen")), (Names{"SRS_RTC_SERVER_TCP_LISTEN"}));
    EXPECT_EQ(environment_names(*find_row("vhost/transcode/enabled")), (Names{}));
}

TEST(Rows, ARepeatableOneAddsUp) {
    const std::string rules =
        "security { enabled on; allow play all; deny play 192.0.2.1; deny publish all play ::1; }";
    auto text_of = [](const Loaded& loaded, const char* path) {
        const Row* row = find_row(path);
        return loaded.snapshot ? value_of(*loaded.snapshot, *row) : described(loaded.problems);
    };
    Loaded loaded = load_text("listen 1; vhost __defaultVhost__ { " + rules + " }");
    EXPECT_EQ(text_of(loaded, "vhost/security/allow"), "play all");
    EXPECT_EQ(text_of(loaded, "vhost/security/deny"), "play 192.0.2.1 publish all play ::1");
    // The environment's value replaces all of them.
    loaded = load_text("listen 1; vhost __defaultVhost__ { " + rules + " }", {"SRS_VHOST_SECURITY_DENY=play ::2"});
    EXPECT_EQ(text_of(loaded, "vhost/security/deny"), "play ::2");
    loaded = load_text("listen 1; vhost a { security { enabled on; } }");
    EXPECT_NE(described(loaded.problems).find("security of vhost a has no rule: everybody is refused"),
              std::string::npos);
}

TEST(Rows, ADirectiveWithoutEffectIsAWarning) {
    for (const Row& row : rows()) {
        EXPECT_EQ(row.missing == nullptr, row.supported()) << row.path();
        if (row.supported()) continue;
        const bool is_switch = row.initial == "on" || row.initial == "off";
        const std::string value = is_switch ? (row.initial == "on" ? "off" : "on") : "7";
        std::string text = conf_of(row.path(), value);
        // Every enclosing block is enabled.
        for (size_t slash = row.path().rfind('/'); slash != std::string::npos && slash > 0;) {
            const std::string scope = row.path().substr(0, slash), block = scope.substr(scope.rfind('/') + 1);
            if (scope + "/enabled" != row.path() && find_row(scope + "/enabled") && scope != "vhost")
                text.insert(text.find(block + " {\n") + block.size() + 3, "enabled on;\n");
            slash = scope.rfind('/');
        }
        const bool is_stats = row.path() == "stats/enabled";  // it is on by default: users set it off
        Loaded loaded = load_text("listen 1935;\n" + text, {});
        EXPECT_TRUE(loaded.snapshot) << described(loaded.problems);
        EXPECT_EQ(described(loaded.problems).find(row.path()) == std::string::npos, is_stats)
            << row.path() << "\n"
            << described(loaded.problems);
        for (const std::string& name : environment_names(row)) {
            Loaded by_environment = load_text("listen 1935;", {name + "=7"});
            EXPECT_TRUE(by_environment.snapshot);
            EXPECT_NE(described(by_environment.problems).find(row.path()), std::string::npos) << name;
        }
    }
}

}  // namespace
}  // namespace server
