#pragma once
// RtpFanOut: a stream's RTP lane and WebRTC players whose sessions take every packet and keep nothing, so that what
// runs is the server's own part before encryption: ring, pump, players, headers.

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "live/hub/registry.h"
#include "live/rtp/rtp_lane.h"
#include "media/frame.h"
#include "net/sessions/session.h"
#include "runtime/loop/log_limit.h"
#include "service/rtc/play/player.h"

namespace hot {

class RtpFanOut {
  public:
    // Few enough that a walk of the pump ends within its turn, under valgrind too.
    static constexpr int kPlayers = 32;

    explicit RtpFanOut(std::span<const media::Frame> first);
    ~RtpFanOut();
    // In packets of 1,200 bytes at most; lets the pump send them.
    void publish(const media::Frame& frame);
    size_t sends() const { return sends_; }

  private:
    class Session;
    static constexpr size_t kPayloadBytes = 1188;

    size_t sends_ = 0;
    int64_t now_us_ = 0;
    std::array<uint16_t, 2> sequence_{};
    std::array<uint32_t, 2> timestamp_{};
    live::Registry registry_;
    runtime::LogLimit codec_log_;  // must outlive the players
    config::SnapshotPtr snapshot_ = config::default_snapshot();
    net::SessionTable table_;
    base::Ref<live::Stream> stream_;
    std::vector<std::unique_ptr<Session>> sessions_;
    std::vector<std::unique_ptr<service::rtc::Player>> players_;
};

}  // namespace hot
