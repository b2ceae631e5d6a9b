#include "service/rtc/metrics.h"

#include <string_view>
#include <vector>

#include "convert/statistics.h"
#include "service/rtc/stats.h"

namespace service::rtc {

using prometheus::Labels;
using prometheus::Text;
using prometheus::Type;

namespace {

// A family whose samples differ in one label; no label if its name is empty.
struct Family {
    std::string_view name, help, label;
    Type type;
    std::vector<std::pair<std::string_view, uint64_t RtcStats::*>> samples;
};

const std::vector<Family>& families() {
    using S = RtcStats;
    constexpr auto kCounter = Type::kCounter, kGauge = Type::kGauge;
    static const std::vector<Family> kAll = {
        {"srs_rtc_sessions",
         "WebRTC sessions, including those that are not connected yet.",
         "",
         kGauge,
         {{"", &S::sessions}}},
        {"srs_rtc_half_open",
         "Of these, sessions that have been answered but have no SRTP keys yet.",
         "",
         kGauge,
         {{"", &S::half_open}}},
        {"srs_rtc_sessions_total",
         "Sessions: offers that were answered, and those of them that connected.",
         "state",
         kCounter,
         {{"created", &S::created}, {"connected", &S::connected}}},
        {"srs_rtc_half_open_dropped_total",
         "Half-open sessions replaced by newer ones (replaced), and offers refused at the limit "
         "(refused).",
         "reason",
         kCounter,
         {{"replaced", &S::replaced}, {"refused", &S::refused_half_open}}},
        {"srs_rtc_datagrams_total",
         "Datagrams of sessions: STUN, DTLS, SRTP, SRTCP.",
         "direction",
         kCounter,
         {{"in", &S::received}, {"out", &S::sent}}},
        {"srs_rtc_datagrams_refused_total",
         "Datagrams that were refused.",
         "reason",
         kCounter,
         {{"wrong", &S::refused}, {"no-session", &S::unknown}, {"not-ours", &S::other}}},
        {"srs_rtc_publisher_lost_total", "Packets of publishers detected as missing.", "", kCounter, {{"", &S::lost}}},
        {"srs_rtc_publisher_rtx_total",
         "Packets of publishers received by RTX.",
         "",
         kCounter,
         {{"", &S::received_by_rtx}}},
        {"srs_rtc_publisher_given_up_total",
         "Packets of publishers that were never received.",
         "",
         kCounter,
         {{"", &S::given_up}}},
        {"srs_rtc_nacks_total",
         "Packets requested by NACK, counted each time: by players (in), of publishers (out).",
         "direction",
         kCounter,
         {{"in", &S::nacks}, {"out", &S::nacks_sent}}},
        {"srs_rtc_sent_again_total", "Packets retransmitted to players.", "", kCounter, {{"", &S::retransmitted}}},
        {"srs_rtc_nacks_unanswered_total",
         "Packets that players requested and that were not retransmitted.",
         "reason",
         kCounter,
         {{"budget", &S::nacks_refused}, {"repeated", &S::nacks_repeated}, {"unknown", &S::nacks_unknown}}},
        {"srs_rtc_keyframe_requests_total",
         "PLI and FIR: of players (in), to publishers (out).",
         "direction",
         kCounter,
         {{"in", &S::keyframe_requests_received}, {"out", &S::keyframe_requests_sent}}},
        {"srs_rtc_reduced_players",
         "Players with a short link, or a wish, that are sent the heads of GOPs or the audio alone (heads), or another "
         "layer than the stream's (layer).",
         "sent",
         kGauge,
         {{"heads", &S::on_heads}, {"layer", &S::on_layer}}},
        {"srs_rtc_player_jumps_total", "Times a player skipped to a later keyframe.", "", kCounter, {{"", &S::jumps}}},
    };
    return kAll;
}

void conversion_figures(Text& text) {
    const convert::Statistics& now = convert::statistics();
    text.family("srs_rtc_bridges", Type::kGauge, "Streams that are converted: frames to RTP, RTP to frames.");
    text.sample({{"direction", "to-rtp"}}, static_cast<double>(now.to_rtp));
    text.sample({{"direction", "to-frames"}}, static_cast<double>(now.from_rtp));
    text.family("srs_rtc_audio_converters", Type::kGauge, "Audio converters.");
    text.sample({}, static_cast<double>(now.audio_converters));
    text.family("srs_rtc_audio_dropped_total", Type::kCounter, "Audio packets that converters did not get to in time.");
    text.sample({}, static_cast<double>(now.audio_dropped));
}

}  // namespace

void write_metrics(const net::AddressQuota& offers, Text& text) {
    const RtcStats& stats = rtc_stats();
    for (const Family& family : families()) {
        text.family(family.name, family.type, family.help);
        for (const auto& [value, member] : family.samples) {
            Labels labels;
            if (!family.label.empty()) labels.add(family.label, value);
            text.sample(labels, static_cast<double>(stats.*member));
        }
    }
    write_refused(text, "srs_rtc_offers_refused_total", "WebRTC offers refused by address_limits.", offers);
    conversion_figures(text);
}

}  // namespace service::rtc
