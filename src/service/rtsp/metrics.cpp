#include "service/rtsp/metrics.h"

#include <string_view>

#include "service/rtsp/service.h"
#include "service/rtsp/stats.h"

namespace service::rtsp {

using prometheus::Text;
using prometheus::Type;

namespace {

constexpr std::array<std::string_view, kSessionKinds> kKindNames = {"play", "publish", "pull", "forward"};
constexpr std::array<std::string_view, kCarriers> kCarrierNames = {"tcp", "udp", "http-tunnel"};

void write_sessions(Text& text) {
    text.family("srs_rtsp_sessions", Type::kGauge, "RTSP sessions in which media flows.");
    for (size_t kind = 0; kind < kSessionKinds; ++kind)
        for (size_t carrier = 0; carrier < kCarriers; ++carrier)
            text.sample({{"kind", kKindNames[kind]}, {"transport", kCarrierNames[carrier]}},
                        static_cast<double>(rtsp_stats().sessions[kind][carrier]));
}

void write_cameras(const Cameras& cameras, Text& text) {
    using State = Camera::State;
    std::array<uint64_t, Camera::kStates> counts{};
    uint64_t attempts = 0;
    for (const auto& camera : cameras.list()) {
        ++counts[static_cast<size_t>(camera->state())];
        attempts += camera->attempts();
    }
    text.family("srs_rtsp_pulls", Type::kGauge, "Streams that are pulled (ingest), by the state of the pull.");
    const auto of = [&](State state) { return static_cast<double>(counts[static_cast<size_t>(state)]); };
    text.sample({{"state", "idle"}}, of(State::kIdle));
    text.sample({{"state", "connecting"}}, of(State::kConnecting) + of(State::kWaitingForMedia));
    text.sample({{"state", "streaming"}}, of(State::kStreaming));
    text.sample({{"state", "waiting"}}, of(State::kPausing));
    text.single("srs_rtsp_pull_attempts", Type::kGauge, "Connections that the present pulls have tried.",
                static_cast<double>(attempts));
}

void write_datagrams(UdpPorts* ports, Text& text) {
    const runtime::UdpStats stats = ports ? ports->stats() : runtime::UdpStats();
    text.family("srs_rtsp_datagrams_total", Type::kCounter, "Datagrams of rtsp_server's UDP ports.");
    text.sample({{"direction", "in"}}, static_cast<double>(stats.received));
    text.sample({{"direction", "out"}}, static_cast<double>(stats.sent));
    text.family("srs_rtsp_datagrams_dropped_total", Type::kCounter,
                "Datagrams that a full buffer of these ports did not take.");
    text.sample({{"direction", "in"}}, static_cast<double>(stats.receive_lost));
    text.sample({{"direction", "out"}}, static_cast<double>(stats.send_lost));
    text.family(
        "srs_rtsp_datagrams_refused_total", Type::kCounter,
        "Datagrams from addresses that no session has (no-session), or that are not the camera's (not-camera).");
    text.sample({{"reason", "no-session"}}, static_cast<double>(rtsp_stats().refused_unknown));
    text.sample({{"reason", "not-camera"}}, static_cast<double>(rtsp_stats().refused_pull));
}

}  // namespace

RtspStats& rtsp_stats() {
    static RtspStats stats;
    return stats;
}

void CountedSession::begin(SessionKind kind, Carrier carrier) {
    end();
    ++rtsp_stats().sessions[static_cast<size_t>(kind)][static_cast<size_t>(carrier)];
    counted_ = static_cast<uint8_t>(1 + static_cast<size_t>(kind) * kCarriers + static_cast<size_t>(carrier));
}

void CountedSession::end() {
    if (counted_ == 0) return;
    --rtsp_stats().sessions[(counted_ - 1u) / kCarriers][(counted_ - 1u) % kCarriers];
    counted_ = 0;
}

void write_metrics(Service& service, Text& text) {
    write_sessions(text);
    write_cameras(service.cameras(), text);
    text.single("srs_rtsp_player_lost_total", Type::kCounter,
                "RTP packets that players by UDP report as lost in their receiver reports.",
                static_cast<double>(rtsp_stats().player_lost));
    write_datagrams(service.udp_ports(), text);
}

}  // namespace service::rtsp
