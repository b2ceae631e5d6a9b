#include "hot/rtp_fan_out.h"

#include <algorithm>
#include <cstring>

#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"

namespace hot {

// Rounds of so many players are not so far apart.
constexpr int64_t kRoundsApartUs = 10'000;

class RtpFanOut::Session final : public service::rtc::MediaSession, private net::Session {
  public:
    Session(net::SessionTable& table, size_t& sends) : net::Session(table, "hot00000", "127.0.0.1"), sends_(sends) {}
    bool connected() const override { return true; }
    void send_rtp(std::span<const uint8_t> header, std::span<const uint8_t>, std::span<const uint8_t> payload,
                  uint64_t) override {
        std::memcpy(out_.data(), header.data(), header.size());
        sent_bytes_ += header.size() + payload.size();
        ++sends_;
    }
    void send_rtcp(std::span<const uint8_t>) override {}
    Room room() const override { return Room::kNow; }
    void tick_sooner(int64_t) override {}
    void end(std::string_view, base::CloseReason) override {}
    const service::rtc::SessionCounters& counters() const override { return counters_; }
    net::Session& as_session() override { return *this; }

  private:
    std::string stream_text() const override { return "v/live/s"; }
    net::Traffic traffic() const override { return {0, sent_bytes_}; }
    void kick(std::string_view) override {}

    size_t& sends_;
    uint64_t sent_bytes_ = 0;
    std::array<uint8_t, 64> out_{};
    service::rtc::SessionCounters counters_;
};

RtpFanOut::RtpFanOut(std::span<const media::Frame> first) {
    stream_ = registry_.find_or_create({"v", "live", "rtp"}, {});
    live::RtpLane& lane = stream_->rtp_lane();
    lane.set_tracks({{.kind = media::Kind::kVideo, .codec = media::Codec::kH264},
                     {.kind = media::Kind::kAudio, .codec = media::Codec::kOpus, .clock_rate = 48'000}});
    const std::vector<service::rtc::SendFormat> formats = {
        {.kind = media::Kind::kAudio, .codec = media::Codec::kOpus, .ssrc = 1, .payload_type = 111},
        {.kind = media::Kind::kVideo,
         .codec = media::Codec::kH264,
         .ssrc = 2,
         .rtx_ssrc = 3,
         .payload_type = 102,
         .rtx_payload_type = 103,
         .nack = true}};
    for (int i = 0; i < kPlayers; ++i) {
        sessions_.push_back(std::make_unique<Session>(table_, sends_));
        service::rtc::MediaParts parts{
            *sessions_.back(), registry_, codec_log_, stream_->key(), snapshot_, *snapshot_->vhost("v"), {}, {}, {}};
        players_.push_back(std::make_unique<service::rtc::Player>(std::move(parts), stream_, formats, 1000));
        players_.back()->on_connected(0);
    }
    for (int i = 0; i < 4; ++i) CHECK(runtime::yield().has_value());
    // They begin with its keyframe.
    const auto keyframe = std::ranges::find_if(first, [](const media::Frame& frame) { return frame.keyframe; });
    CHECK(keyframe != first.end());
    for (const media::Frame& frame : first.subspan(static_cast<size_t>(keyframe - first.begin()))) publish(frame);
}

RtpFanOut::~RtpFanOut() {
    players_.clear();
    stream_.reset();
    for (int i = 0; i < 1000 && registry_.size() > 0; ++i) CHECK(runtime::sleep_ms(1).has_value());
}

void RtpFanOut::publish(const media::Frame& frame) {
    const size_t track = frame.kind == media::Kind::kVideo ? 0 : 1;
    // The time to the next round passes without a wait, which would be counted.
    runtime::detail::loop_clock.ahead_us += kRoundsApartUs;
    timestamp_[track] += track == 0 ? 3600 : 1024;
    now_us_ += 15'000;
    size_t packets = 0;
    for (size_t at = 0; at < frame.payload.size(); at += kPayloadBytes, ++packets) {
        const base::Slice part = frame.payload.sub(at, kPayloadBytes);
        const bool last = at + part.size() == frame.payload.size();
        stream_->rtp_lane().append(track, {sequence_[track]++, timestamp_[track], last, frame.keyframe}, part, now_us_);
    }
    const size_t wanted = sends_ + packets * players_.size();
    for (int i = 0; i < 1000 && sends_ < wanted; ++i) CHECK(runtime::yield().has_value());
    CHECK(sends_ == wanted);
}

}  // namespace hot
