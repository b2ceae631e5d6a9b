#pragma once
// The features behind directives that are recognised but have no effect: features that are not built yet, those that
// are left out for good, and services that a build leaves out. Each feature causes one warning, with all of its
// directives that a configuration uses.

#include <string_view>

namespace config {

struct Feature {
    std::string_view name;   // "SRT"
    std::string_view state;  // "is not built yet", "is left out: Flash is gone"
    bool guards = false;     // it keeps clients out: using it without effect is an error
};

namespace features {

inline constexpr std::string_view kLater = "is not built yet";
inline constexpr std::string_view kNotBuiltIn = "is not built in";
inline constexpr Feature kHls{"HLS", kNotBuiltIn};
inline constexpr Feature kDvr{"recording", kNotBuiltIn};
inline constexpr Feature kForward{"forwarding", kNotBuiltIn};
inline constexpr Feature kHttpLive{"playing by HTTP", kNotBuiltIn};
inline constexpr Feature kRtc{"WebRTC", kNotBuiltIn};
inline constexpr Feature kRtsp{"RTSP", kNotBuiltIn};
inline constexpr Feature kHooks{"the hook service", kNotBuiltIn, true};
inline constexpr Feature kConsole{"the console", kNotBuiltIn};
inline constexpr Feature kHeartbeat{"heartbeat", kNotBuiltIn};
inline constexpr Feature kExporter{"the exporter", kNotBuiltIn};
inline constexpr Feature kSrt{"SRT", kNotBuiltIn};
inline constexpr Feature kDash{"DASH", kNotBuiltIn};
inline constexpr Feature kCluster{"cluster", kNotBuiltIn};
inline constexpr Feature kOriginCluster{"the cluster of origins", kNotBuiltIn};
inline constexpr Feature kExec{"exec", kNotBuiltIn};
inline constexpr Feature kIngest{"ingest", kNotBuiltIn};
inline constexpr Feature kIngestTool{"ingest by an external tool", kNotBuiltIn};
inline constexpr Feature kTranscode{"transcode", kNotBuiltIn};
inline constexpr Feature kStreamCaster{"stream_caster", kNotBuiltIn};
inline constexpr Feature kOldStreamCaster{"a part of stream_caster of SRS 4", "is left out, as SRS has left it out"};
inline constexpr Feature kStats{"stats", "is left out: the summary shows all devices"};
inline constexpr Feature kVersionQuery{"the version query", "is left out: this server sends no query to its makers"};
inline constexpr Feature kCloudLogs{"tencentcloud", "is left out: the log and the exporter are for every collector"};
inline constexpr Feature kThreads{"threads", "is left out: the server knows how many threads it needs"};
inline constexpr Feature kSip{"the SIP of GB28181", "is left out, as SRS has left it out"};
inline constexpr Feature kHds{"HDS", "is left out: its players went with Flash"};
inline constexpr Feature kBandwidthCheck{"bandcheck", "is left out: its players went with Flash"};
inline constexpr Feature kSendingByTime{"mw_msgs", "is left out: what a player is sent depends on mw_latency alone"};
inline constexpr Feature kStartCodes{"try_annexb_first", "is left out: H.264 payloads are read by their lengths alone"};
inline constexpr Feature kHlsCodecs{"the choice of codecs for HLS",
                                    "is left out: segments have the stream's own tracks"};
inline constexpr Feature kHlsMount{"hls_mount",
                                   "is left out: hls_storage memory serves segments at the playlist's URL"};
inline constexpr Feature kRawQueries{"the change of directives by the raw API",
                                     "is left out: the file is the configuration"};
inline constexpr Feature kUring{"writing by io_uring", "is left out: two worker threads write all files"};
inline constexpr Feature kHstrs{"hstrs", "is left out, as SRS has left it out"};
inline constexpr Feature kOldRtcServer{"a part of rtc_server of SRS 4", "is left out, as SRS has left it out"};

}  // namespace features
}  // namespace config
