#include "service/api/history/history.h"

#include <algorithm>
#include <utility>

#include "live/fanout/delivery.h"
#include "runtime/diagnose/machine.h"
#include "runtime/diagnose/watchdog.h"
#include "runtime/loop/clock.h"
#include "service/api/overview.h"
#include "service/api/system.h"
#include "service/stream_view.h"

namespace service::api {

namespace {

constexpr size_t kProtocols = kPlayerProtocols.size();

constexpr std::array<FigureSpec, 6 + kProtocols> kStreamFigures = {{{"recv_kbps"},
                                                                    {"send_kbps"},
                                                                    {"fps", Merge::kMean, 10},
                                                                    {"drops", Merge::kSum},
                                                                    {"silent_s", Merge::kSum},
                                                                    {"lag_ms", Merge::kMax},
                                                                    {"players_rtmp"},
                                                                    {"players_flv"},
                                                                    {"players_hls"},
                                                                    {"players_webrtc"},
                                                                    {"players_rtsp"},
                                                                    {"players_srt"},
                                                                    {"players_other"}}};
constexpr std::array<FigureSpec, 10 + kProtocols> kServerFigures = {{{"recv_kbps"},
                                                                     {"send_kbps"},
                                                                     {"cpu", Merge::kMean, 10'000},
                                                                     {"machine_cpu", Merge::kMean, 10'000},
                                                                     {"memory_bytes"},
                                                                     {"stall_ms", Merge::kMax},
                                                                     {"latency_ms", Merge::kMean, 10},
                                                                     {"connections"},
                                                                     {"streams"},
                                                                     {"publishers"},
                                                                     {"players_rtmp"},
                                                                     {"players_flv"},
                                                                     {"players_hls"},
                                                                     {"players_webrtc"},
                                                                     {"players_rtsp"},
                                                                     {"players_srt"},
                                                                     {"players_other"}}};

size_t protocol_index(net::SessionType type) {
    const auto found = std::ranges::find(kPlayerProtocols, protocol_of(type));
    return std::min<size_t>(static_cast<size_t>(found - kPlayerProtocols.begin()), kProtocols - 1);
}

// Types are added while services are made.
const std::array<uint8_t, net::SessionType::kMax>& protocol_indexes() {
    static std::array<uint8_t, net::SessionType::kMax> indexes;
    static size_t known = 0;
    for (; known < net::SessionType::count(); ++known)
        indexes[known] = static_cast<uint8_t>(protocol_index(net::SessionType::at(known)));
    return indexes;
}

// 0 where the counter belongs to another object than before.
uint64_t growth(uint64_t now, uint64_t before) { return now >= before ? now - before : 0; }

uint64_t rounded(double value) { return value > 0 ? static_cast<uint64_t>(value + 0.5) : 0; }

}  // namespace

std::span<const FigureSpec> stream_figures() { return kStreamFigures; }
std::span<const FigureSpec> server_figures() { return kServerFigures; }

History::StreamRecord::StreamRecord(const live::StreamKey& stream) : key(stream), id(net::stream_id(stream)) {}

History::History(const Context& context, const System& system) : context_(context), system_(system) {}

size_t History::limit() const { return static_cast<size_t>(context_.snapshot->http_api.history_memory) << 20; }

void History::start() {
    cpu_us_ = runtime::process_cpu_us();
    task_ = runtime::spawn("history", [this] { run(); });
}

void History::stop() {
    if (task_) task_.cancel_and_join();
    task_ = {};
}

void History::run() {
    while (runtime::sleep_ms(1'000 - runtime::now_ms() % 1'000)) {
        if (is_enabled()) {
            if (!sample()) return;
        } else if (sampled_ms_ > 0) {
            clear();
        }
    }
}

base::Result<void> History::sample() {
    const int64_t now_ms = runtime::now_ms();
    ++pass_;
    TRY(count_sessions(now_ms));
    sample_server(now_ms);
    TRY(sample_streams(now_ms));
    trim_ended();
    sampled_ms_ = now_ms;
    return {};
}

// CPU time of others that run in between counts too: then they have much to do.
base::Result<void> History::count_sessions(int64_t now_ms) {
    counted_ = now_ms >= next_count_ms_;
    if (!counted_) return {};
    const int64_t began_us = runtime::thread_cpu_us();
    TRY(context_.sessions.count());
    const int64_t cost_ms = (runtime::thread_cpu_us() - began_us) * kShare / 1'000;
    next_count_ms_ = now_ms + std::min(cost_ms, kMaxCountMs);
    return {};
}

void History::sample_server(int64_t now_ms) {
    const int64_t passed_ms = std::max<int64_t>(1, now_ms - sampled_ms_);
    const net::SessionTable& sessions = context_.sessions;
    if (counted_) {
        const net::Traffic traffic = sessions.traffic();
        if (traffic_ms_ > 0)
            rates_ = {
                net::kbit_per_second(growth(traffic.received_bytes, traffic_.received_bytes), now_ms - traffic_ms_),
                net::kbit_per_second(growth(traffic.sent_bytes, traffic_.sent_bytes), now_ms - traffic_ms_)};
        traffic_ = traffic;
        traffic_ms_ = now_ms;
    }
    const System::Usage usage = system_.usage();
    const int64_t cpu_us = runtime::process_cpu_us();
    uint64_t sum_us = 0, latencies = 0;
    for (const auto& [protocol, latency] : context_.registry.delivery().latencies()) {
        sum_us += latency.sum_us;
        latencies += latency.total;
    }
    const uint64_t more = growth(latencies, latencies_);
    std::array<uint64_t, kServerFigures.size()> values = {
        rates_.received,
        rates_.sent,
        rounded(static_cast<double>(cpu_us - cpu_us_) * 10 / static_cast<double>(passed_ms)),
        rounded(usage.cpu * 10'000),
        usage.process_bytes,
        static_cast<uint64_t>(runtime::loop_stats().minute.longest_ms(base::monotonic_ms())),
        more > 0 ? growth(sum_us, latency_sum_us_) / more / 100 : 0,
        static_cast<uint64_t>(std::max<int64_t>(0, static_cast<int64_t>(sessions.admission().connections()))),
        sessions.accounts().streams()};
    cpu_us_ = cpu_us;
    latency_sum_us_ = sum_us;
    latencies_ = latencies;
    for (size_t i = 0; i < net::SessionType::count(); ++i) {
        const auto type = net::SessionType::at(i);
        if (!net::is_client(type)) continue;
        (net::publishes(type) ? values[9] : values[10 + protocol_indexes()[i]]) += sessions.in_streams(type);
    }
    if (sampled_ms_ > 0) server_.append(static_cast<uint32_t>(now_ms / 1'000), values);
    if (pass_ % 60 == 0) server_.trim(static_cast<uint32_t>(now_ms / 1'000));
}

History::StreamRecord* History::record_of(const live::Stream& stream) {
    const auto found = streams_.find(stream.key());
    if (found != streams_.end()) return found->second.get();
    if (bytes_ + kNewBytes > limit()) forget_ended();
    if (bytes_ + kNewBytes > limit()) {
        ++left_out_;
        return nullptr;
    }
    auto& made = streams_[stream.key()] = std::make_unique<StreamRecord>(stream.key());
    const live::StreamCounters counters = stream.figures();
    made->video_frames.fill(counters.video_frames);
    made->payload_bytes.fill(counters.payload_bytes);
    made->frames = counters.video_frames + counters.audio_frames;
    made->jumps = counters.viewer_jumps;
    count_bytes(*made);
    return made.get();
}

void History::count_bytes(StreamRecord& one) {
    const size_t bytes = kOverheadBytes + one.record.bytes();
    bytes_ = bytes_ - one.bytes + bytes;
    one.bytes = bytes;
}

// Frames and bytes come in batches: their figures are the means of two seconds.
void History::sample_stream(live::Stream& stream, StreamRecord& one, int64_t now_ms) {
    const auto passed_ms = static_cast<uint64_t>(std::max<int64_t>(1, now_ms - sampled_ms_));
    const live::StreamCounters counters = stream.figures();
    const net::StreamAccount* account = context_.sessions.accounts().find(stream.key());
    const uint64_t frames = counters.video_frames + counters.audio_frames;
    if (counted_ && account) {
        const net::Traffic& traffic = account->traffic();
        one.sent_kbps = one.counted_ms > 0
                            ? net::kbit_per_second(growth(traffic.sent_bytes, one.sent_bytes), now_ms - one.counted_ms)
                            : 0;
        one.sent_bytes = traffic.sent_bytes;
        one.counted_ms = now_ms;
    }
    if (counted_) one.lag_ms = stream.viewer_count() <= kMaxLagViewers ? slowest_viewer_ms(stream) : 0;
    std::array<uint64_t, kStreamFigures.size()> values = {
        growth(counters.payload_bytes, one.payload_bytes[1]) * 4 / passed_ms,
        account ? one.sent_kbps : 0,
        growth(counters.video_frames, one.video_frames[1]) * 5'000 / passed_ms,
        growth(counters.viewer_jumps, one.jumps),
        frames == one.frames ? 1u : 0u,
        static_cast<uint64_t>(std::max<int64_t>(0, one.lag_ms))};
    uint64_t players = 0;
    if (account && account->players() > 0)
        for (size_t i = 0; i < net::SessionType::count(); ++i) {
            const uint64_t count = account->players_of(net::SessionType::at(i));
            values[6 + protocol_indexes()[i]] += count;
            players += count;
        }
    values.back() += growth(stream.demand(), players);  // those that wait, and of HLS without contexts
    one.payload_bytes = {counters.payload_bytes, one.payload_bytes[0]};
    one.video_frames = {counters.video_frames, one.video_frames[0]};
    one.frames = frames;
    one.jumps = counters.viewer_jumps;
    one.record.append(static_cast<uint32_t>(now_ms / 1'000), values);
}

base::Result<void> History::sample_streams(int64_t now_ms) {
    std::vector<base::Ref<live::Stream>> all;
    all.reserve(context_.registry.size());
    context_.registry.for_each([&](live::Stream& stream) {
        if (stream.published()) all.emplace_back(&stream);
    });
    left_out_ = 0;
    std::vector<StreamRecord*> live;
    live.reserve(all.size());
    runtime::CpuSlice slice;
    for (const base::Ref<live::Stream>& stream : all) {
        if (StreamRecord* one = record_of(*stream)) {
            live.push_back(one);
            if (std::exchange(one->pass, pass_) != 0 && sampled_ms_ > 0) sample_stream(*stream, *one, now_ms);
            if (!std::exchange(one->is_live, true)) --ended_;
            keep_within_limit(*one);
        }
        TRY(slice.step());
    }
    for (StreamRecord* one : live_) {
        if (one->pass == pass_) continue;
        one->is_live = false;
        ++ended_;
        one->record.rest();
        count_bytes(*one);
        TRY(slice.step());
    }
    live_ = std::move(live);
    return {};
}

void History::keep_within_limit(StreamRecord& one) {
    const auto now_s = static_cast<uint32_t>(runtime::now_ms() / 1'000);
    if (pass_ % 60 == static_cast<uint8_t>(one.id.back()) % 60u) one.record.trim(now_s);
    one.record.shrink(FigureRecord::kMaxBytes);
    count_bytes(one);
    if (bytes_ <= limit()) return;
    forget_ended();
    if (bytes_ <= limit()) return;
    const size_t share = limit() / streams_.size();
    one.record.shrink(share - std::min(share, kOverheadBytes));
    count_bytes(one);
}

// A sixtieth of those that ended: in a minute each is visited once. They go when all of their figures are a day old.
void History::trim_ended() {
    const auto now_s = static_cast<uint32_t>(runtime::now_ms() / 1'000);
    auto one = streams_.upper_bound(trimmed_);
    for (size_t left = streams_.size() / 60 + 1; left > 0 && one != streams_.end(); --left) {
        trimmed_ = one->first;
        const auto following = std::next(one);
        StreamRecord& stream = *one->second;
        if (!stream.is_live) {
            stream.record.trim(now_s);
            count_bytes(stream);
            if (!stream.record.first_s(60)) forget(one);
        }
        one = following;
    }
    if (one == streams_.end()) trimmed_ = {};
}

void History::forget(Streams::iterator stream) {
    bytes_ -= stream->second->bytes;
    streams_.erase(stream);
    --ended_;
    ++forgotten_;
}

// Down to nine tenths of the limit: the next ones need no search.
void History::forget_ended() {
    if (ended_ == 0) return;
    std::vector<Streams::iterator> ended;
    for (auto one = streams_.begin(); one != streams_.end(); ++one)
        if (!one->second->is_live) ended.push_back(one);
    std::ranges::sort(ended, {}, [](const auto& one) { return one->second->pass; });
    const size_t target = limit() / 10 * 9;
    for (const auto& one : ended) {
        if (bytes_ <= target) return;
        forget(one);
    }
}

void History::clear() {
    streams_.clear();
    live_.clear();
    server_ = FigureRecord(server_figures());
    bytes_ = ended_ = 0;
    sampled_ms_ = traffic_ms_ = 0;
}

std::vector<const History::StreamRecord*> History::streams() const {
    std::vector<const StreamRecord*> all;
    for (const auto& [key, one] : streams_) all.push_back(one.get());
    return all;
}

const History::StreamRecord* History::find(std::string_view stream_id) const {
    for (const auto& [key, one] : streams_)
        if (one->id == stream_id) return one.get();
    return nullptr;
}

}  // namespace service::api
