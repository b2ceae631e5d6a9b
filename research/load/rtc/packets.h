#pragma once
// Packets: what WHIP publishers of the load send: the H.264 of an FLV file as RTP payloads, packetised once for all,
// with Opus packets of silence, padded to a bitrate (RFC 6716, 3.2.5), each 20 ms. Repeated with growing timestamps.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/slice.h"

namespace load::rtc {

class Packets {
  public:
    struct Packet {
        base::Slice payload;
        int64_t at_us = 0;  // when it is due, from the round's begin
        bool video = false;
        bool marker = false;
    };
    // kNotFound: no file; kProtocol: no H.264 in it.
    static base::Result<Packets> from_flv(const std::string& path, uint32_t audio_kbps = 32);

    const std::vector<Packet>& list() const { return list_; }
    int64_t round_us() const { return round_us_; }
    uint32_t kbps() const;

  private:
    base::Result<void> add_video(std::span<const uint8_t> file);
    void add_audio(uint32_t kbps);

    std::vector<Packet> list_;  // by time
    int64_t round_us_ = 0;
};

}  // namespace load::rtc
