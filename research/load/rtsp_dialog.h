#pragma once
// RtspDialog: an RTSP client as the load tool needs it (RFC 2326): OPTIONS, DESCRIBE, SETUP of each track and PLAY, or
// OPTIONS, ANNOUNCE, SETUP and RECORD; then it only follows the frames. What the requests need is released then. It
// sends no keep-alive requests: connections that carry media need none, and players by UDP send reports.

#include <memory>
#include <string>

#include "load/dialog.h"
#include "load/interleaved_skimmer.h"

namespace load {

class RtspDialog final : public Dialog {
  public:
    RtspDialog(const Target& target, Role role, DialogOptions options);
    ~RtspDialog() override;

    void start(std::vector<uint8_t>& out) override;
    base::Result<void> feed(std::span<const uint8_t> bytes, MediaSink& sink, std::vector<uint8_t>& out) override;
    base::Result<void> on_datagram(size_t track, std::span<const uint8_t> packet, MediaSink& sink) override;

  private:
    struct Opening;
    base::Result<size_t> step(std::span<const uint8_t> bytes, MediaSink& sink, std::vector<uint8_t>& out);
    base::Result<void> on_response(std::vector<uint8_t>& out);
    base::Result<void> set_up();
    void set_channels();

    std::unique_ptr<Opening> opening_;  // until it plays or records
    InterleavedSkimmer skimmer_;
    bool udp_ = false;
};

}  // namespace load
