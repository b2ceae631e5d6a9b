#pragma once
// PacketSkimmer: follows a transport stream (ISO/IEC 13818-1, 2.4.3) from packet to packet without keeping them. It
// checks that each begins with the sync byte, and tells of each PES packet that begins.

#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "load/media_sink.h"

namespace load {

class PacketSkimmer {
  public:
    // An error is final.
    base::Result<void> feed(std::span<const uint8_t> bytes, MediaSink& sink);

  private:
    static constexpr size_t kPacketSize = 188;
    base::Result<void> packet(std::span<const uint8_t> bytes, MediaSink& sink);

    std::array<uint8_t, kPacketSize> cut_{};  // of the packet whose end has not come
    uint8_t have_ = 0;
};

}  // namespace load
