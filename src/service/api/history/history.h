#pragma once
// History: the figures of the server and of each published stream, of each second for an hour and of each minute for a
// day, also of streams that ended, in at most history_memory. A coroutine takes them once a second, in slices. Where
// the bytes of many sessions take long to add up, that is done less often: their rates are those of several seconds
// then. At the limit streams that ended go first, those that ended first; then streams have less than an hour; then
// new ones have none, which is counted. It ends with the process (doc/decisions/209-figures-of-the-past-in-memory.md).

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "live/hub/registry.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/cpu_slice.h"
#include "service/api/history/figure_record.h"
#include "service/api/table/context.h"

namespace service::api {

class System;

// Players are counted by these protocols of the overview; the last one has all others.
inline constexpr std::array<std::string_view, 7> kPlayerProtocols = {"rtmp", "flv", "hls",  "webrtc",
                                                                     "rtsp", "srt", "other"};
std::span<const FigureSpec> stream_figures();
std::span<const FigureSpec> server_figures();

class History {
  public:
    static constexpr int64_t kShare = 400;           // counting all sessions takes at most this part of the time
    static constexpr int64_t kMaxCountMs = 15'000;   // between two counts
    static constexpr size_t kOverheadBytes = 1'000;  // of a stream, beside its record
    static constexpr size_t kNewBytes = 3'500;       // of a stream that is new
    static constexpr size_t kMaxLagViewers = 1'000;  // of a stream; with more the lag is not looked for

    // Both must outlive it.
    History(const Context& context, const System& system);
    ~History() { stop(); }
    History(const History&) = delete;

    void start();
    void stop();

    struct StreamRecord {
        explicit StreamRecord(const live::StreamKey& key);
        const live::StreamKey key;
        const std::string id;  // in the API
        FigureRecord record{stream_figures()};
        bool is_live = true;
        size_t bytes = 0;  // as counted last
        // What the counters were.
        std::array<uint64_t, 2> video_frames{}, payload_bytes{};  // a second ago, two seconds ago
        uint64_t frames = 0, jumps = 0, sent_bytes = 0, sent_kbps = 0;
        int64_t counted_ms = 0, lag_ms = 0;
        uint64_t pass = 0;  // that saw it last; 0: it is new
    };
    // Those that have a record, in order of their names. The pointers are valid until the caller yields.
    std::vector<const StreamRecord*> streams() const;
    const StreamRecord* find(std::string_view stream_id) const;  // null: there is none
    const FigureRecord& server() const { return server_; }
    bool is_enabled() const { return limit() > 0; }
    size_t bytes() const { return bytes_ + server_.bytes(); }
    size_t limit() const;
    uint64_t left_out() const { return left_out_; }  // streams without a record, in the last second
    uint64_t forgotten() const { return forgotten_; }

    // One pass, for tests. Yields.
    base::Result<void> sample();

  private:
    using Streams = std::map<live::StreamKey, std::unique_ptr<StreamRecord>>;

    void run();
    base::Result<void> count_sessions(int64_t now_ms);
    void sample_server(int64_t now_ms);
    void sample_stream(live::Stream& stream, StreamRecord& one, int64_t now_ms);
    StreamRecord* record_of(const live::Stream& stream);
    base::Result<void> sample_streams(int64_t now_ms);
    void keep_within_limit(StreamRecord& one);
    void trim_ended();
    void forget_ended();
    void forget(Streams::iterator stream);
    void count_bytes(StreamRecord& one);
    void clear();

    const Context& context_;
    const System& system_;
    FigureRecord server_{server_figures()};
    Streams streams_;
    std::vector<StreamRecord*> live_;  // in the last pass
    size_t ended_ = 0;                 // records of streams that are published no longer
    live::StreamKey trimmed_{};        // the last of them that was visited
    size_t bytes_ = 0;                 // of all streams
    uint64_t left_out_ = 0, forgotten_ = 0, pass_ = 0;
    bool counted_ = false;  // the sessions, in this pass
    int64_t next_count_ms_ = 0, sampled_ms_ = 0;
    // Of the server, at its last sample.
    int64_t cpu_us_ = 0, traffic_ms_ = 0;
    net::Traffic traffic_{};
    net::Rates rates_{};
    uint64_t latency_sum_us_ = 0, latencies_ = 0;
    runtime::Task task_;
};

}  // namespace service::api
