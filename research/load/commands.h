#pragma once
// What the load tool does: one function per command. Each runs in the first coroutine, says on stderr once a second how
// it goes, prints its report, and returns the process's exit code: 0 when everything went well, 1 when a connection
// failed, was lost or missed a frame, 2 when it could not begin. INT and TERM end a run early, with a report.

#include <cstdint>
#include <string>

namespace load {

struct CommonOptions {
    std::string url;
    uint32_t count = 1;
    double ramp = 200;            // connections per second; 0: all at once
    int64_t seconds = 10;         // measured, once all are open and settled
    int64_t settle_ms = 3000;     // after the last connection, before measuring
    int64_t timeout_ms = 30'000;  // of opening one connection
    int server_pid = 0;
    std::string json_file;
    bool quiet = false;  // no progress
};

struct PlayOptions : CommonOptions {
    uint32_t streams = 0;  // {i} of the URL counts up to here and begins again; 0: never
    bool udp = false;      // rtsp:// media by UDP, not interleaved
    bool verify = false;   // each viewer must get every frame of a made-up stream, in order
};

struct PublishOptions : CommonOptions {
    std::string flv_file;  // empty: a made-up stream of kbps
    uint32_t kbps = 237;
    bool loop = false;
    uint32_t segment = 0;  // bytes per write, and so per TCP segment; 0: a message at a time
};

struct LatencyOptions : CommonOptions {
    std::string publish_url;  // empty: url
    uint32_t kbps = 237;
};

struct ChurnOptions : CommonOptions {
    uint32_t cycles = 10'000;
    uint32_t concurrency = 20;
    bool publish = false;    // publish and go, instead of playing to the first frame
    uint32_t messages = 30;  // that a publisher sends in its cycle
};

// Players of live HLS streams.
struct HlsOptions : CommonOptions {
    uint32_t streams = 0;  // as PlayOptions::streams
};

struct LowLatencyHlsOptions : HlsOptions {};

int play(const PlayOptions& options);
int publish(const PublishOptions& options);
int latency(const LatencyOptions& options);
int churn(const ChurnOptions& options);
int hls(const HlsOptions& options);
int low_latency_hls(const LowLatencyHlsOptions& options);

}  // namespace load
