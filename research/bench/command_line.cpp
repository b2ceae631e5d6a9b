#include "bench/command_line.h"

#include <CLI/CLI.hpp>

namespace bench {

namespace {

void add_common(CLI::App& app, load::CommonOptions& o, const char* url) {
    app.add_option("url", o.url, url)->required();
    app.add_option("-n,--count", o.count, "How many connections")->check(CLI::Range(1, 60000))->capture_default_str();
    app.add_option("--ramp", o.ramp, "Connections opened per second, 0: all at once")->capture_default_str();
    app.add_option("--seconds", o.seconds, "How long to measure once all are open")->capture_default_str();
    app.add_option("--settle-ms", o.settle_ms, "Wait so long between opening and measuring")->capture_default_str();
    app.add_option("--timeout-ms", o.timeout_ms, "Longest time for opening a connection")->capture_default_str();
    app.add_option("--server-pid", o.server_pid, "Measure CPU and memory of this process");
    app.add_option("--json", o.json_file, "Write the figures there too, - for stdout");
    app.add_flag("-q,--quiet", o.quiet, "No progress lines");
}

constexpr const char* kPlayUrl =
    "rtmp://HOST/APP/STREAM, http://HOST/APP/STREAM.flv or .ts, rtsp://HOST/APP/STREAM, or tcp://HOST:PORT or "
    "udp://HOST:PORT of a floor; {i} is the number";
constexpr const char* kPublishUrl =
    "rtmp://HOST/APP/STREAM{i}, rtsp://HOST/APP/STREAM{i} (interleaved), or tcp://HOST:PORT; {i} is the number";
constexpr const char* kSrtUrl =
    "srt://ADDRESS:PORT/STREAM_ID, the id without escapes; or udp://ADDRESS:PORT of a floor; {i} is the number";

}  // namespace

Command parse_command_line(int argc, char** argv) {
    CLI::App app("bench: load for live media servers");
    app.require_subcommand(1);
    load::PlayOptions play;
    load::PublishOptions publish;
    load::LatencyOptions latency;
    load::ChurnOptions churn;
    load::HlsOptions hls;
    load::LowLatencyHlsOptions low_latency;
    load::rtc::WhepOptions whep;
    load::rtc::WhipOptions whip;
    load::rtc::RtcChurnOptions rtc_churn;
    latency.count = 100;

    auto* play_app = app.add_subcommand("play", "Many viewers of a stream");
    add_common(*play_app, play, kPlayUrl);

    play_app->add_option("--streams", play.streams, "{i} counts up to here and begins again");
    play_app->add_flag("--udp", play.udp, "Of rtsp://: media by UDP instead of interleaved");
    play_app->add_flag("--verify", play.verify,
                       "Check that no viewer misses a frame of what `publish --loop` makes up");

    auto* publish_app = app.add_subcommand("publish", "Many publishers, in real time");
    add_common(*publish_app, publish, kPublishUrl);
    publish_app->add_option("--file", publish.flv_file, "The FLV file; without one, a made-up stream");
    publish_app->add_option("--kbps", publish.kbps, "Bitrate of the made-up stream")->capture_default_str();
    publish_app->add_option("--segment", publish.segment,
                            "Bytes per write, each a TCP segment of its own; 0: a message");
    publish_app->add_flag("--loop", publish.loop, "Again and again, with growing timestamps");

    auto* latency_app = app.add_subcommand("latency", "From a publisher's send to its viewers' receipt");
    add_common(*latency_app, latency, kPlayUrl);
    latency_app->add_option("--publish", latency.publish_url, "Publish there (rtmp://), when it is not the URL played");
    latency_app->add_option("--kbps", latency.kbps, "Bitrate of the stream")->capture_default_str();

    auto* churn_app = app.add_subcommand("churn", "Connections that come and go");
    add_common(*churn_app, churn, kPlayUrl);
    churn_app->add_option("--cycles", churn.cycles, "How many in all")->capture_default_str();
    churn_app->add_option("--concurrency", churn.concurrency, "How many at a time")->capture_default_str();
    churn_app->add_flag("--publish", churn.publish, "Publish a few messages, instead of playing to the first frame");
    churn_app->add_option("--messages", churn.messages, "So many")->capture_default_str();

    auto* hls_app = app.add_subcommand("hls", "Many players of a live HLS stream");
    add_common(*hls_app, hls, "The playlist, http://HOST/APP/STREAM.m3u8; {i} is the number");
    hls_app->add_option("--streams", hls.streams, "{i} counts up to here and begins again");

    auto* low_latency_app = app.add_subcommand("low-latency-hls", "Many players of a live stream by low-latency HLS");
    add_common(*low_latency_app, low_latency,
               "The playlist, http://HOST/APP/STREAM.m3u8, or https:// for HTTP/2; {i} is the number");
    low_latency_app->add_option("--streams", low_latency.streams, "{i} counts up to here and begins again");

    auto* whep_app = app.add_subcommand("whep", "Many WebRTC players of a stream");
    add_common(*whep_app, whep, "The WHEP endpoint, http://; or udp://HOST:PORT/ROOM of a floor; {i} is the number");
    whep_app->add_option("--streams", whep.streams, "{i} counts up to here and begins again");
    whep_app->add_flag("--nack", whep.nack, "Offer NACK and RTX, and ask again for what is missing");

    auto* whip_app = app.add_subcommand("whip", "Many WebRTC publishers, in real time");
    add_common(*whip_app, whip, "The WHIP endpoint, http://; or udp://HOST:PORT/ROOM of a floor; {i} is the number");
    whip_app->add_option("--file", whip.flv_file, "The FLV file whose H.264 is sent, again and again")->required();

    auto* rtc_churn_app = app.add_subcommand("rtc-churn", "WebRTC players that come and go");
    add_common(*rtc_churn_app, rtc_churn, "The WHEP endpoint, http://");
    rtc_churn_app->add_option("--cycles", rtc_churn.cycles, "How many in all")->capture_default_str();
    rtc_churn_app->add_option("--concurrency", rtc_churn.concurrency, "How many at a time")->capture_default_str();
    rtc_churn_app->add_option("--ends", rtc_churn.ends, "Of these, by turns: delete, farewell (DTLS), silence")
        ->capture_default_str();

    load::srt::SrtPlayOptions srt_play;
    auto* srt_play_app = app.add_subcommand("srt-play", "Many SRT players of a stream");
    add_common(*srt_play_app, srt_play, kSrtUrl);
    srt_play_app->add_option("--streams", srt_play.streams, "{i} counts up to here and begins again");
    srt_play_app->add_option("--latency", srt_play.latency_ms, "Asked for, in ms")->capture_default_str();
    srt_play_app->add_option("--loss", srt_play.loss, "Percent of the packets that players lose")
        ->capture_default_str();
    srt_play_app->add_option("--passphrase", srt_play.passphrase, "Encrypt, with a key of 16 bytes");

    load::srt::SrtPublishOptions srt_publish;
    auto* srt_publish_app = app.add_subcommand("srt-publish", "Many SRT publishers, in real time");
    add_common(*srt_publish_app, srt_publish, kSrtUrl);
    srt_publish_app->add_option("--latency", srt_publish.latency_ms, "Asked for, in ms")->capture_default_str();
    srt_publish_app->add_option("--file", srt_publish.ts_file, "The transport stream that is sent, again and again")
        ->required();

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error);
    }
    if (*play_app) return play;
    if (*publish_app) return publish;
    if (*latency_app) return latency;
    if (*hls_app) return hls;
    if (*low_latency_app) return low_latency;
    if (*srt_play_app) return srt_play;
    if (*srt_publish_app) return srt_publish;
    if (*whep_app) return whep;
    if (*whip_app) return whip;
    if (*rtc_churn_app) {
        rtc_churn.count = rtc_churn.concurrency;
        return rtc_churn;
    }
    churn.count = churn.concurrency;
    return churn;
}

}  // namespace bench
