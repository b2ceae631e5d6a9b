#pragma once
// RtpScript: a script as an RTSP publisher sends it: each message's RTP packets in interleaved frames (RFC
// 2326, 10.12), made once for all publishers; numbers and times of a round are put in before they are sent. The first
// packet of each track in a round follows a sender report. Of the script's H.264 and AAC, or whatever else RTP carries.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "convert/rtp/rtp_writer.h"
#include "load/script.h"

namespace load {

class RtpScript {
  public:
    // An error: a message is malformed, or there is no track that RTP carries.
    static base::Result<RtpScript> make(const Script& script);

    // Of ANNOUNCE: SDP. Its tracks are on channels 0 and 1, 2 and 3, in its order.
    const std::string& description() const { return description_; }
    // The frames of the script's message, none of a sequence header; valid until the next call. start_us: since 1970,
    // when the publisher began.
    std::span<const uint8_t> encode(uint32_t index, uint32_t round, int64_t start_us);

  private:
    // What is in a packet in the first round.
    struct Packet {
        uint32_t offset = 0;  // of the RTP header
        uint32_t timestamp = 0;
        uint16_t sequence = 0;
    };
    struct Message {
        uint32_t offset = 0;  // in bytes_
        uint32_t size = 0;
        uint32_t first_packet = 0, packets = 0;
        uint32_t before = 0;  // packets of the track before this message, in the first round
        uint64_t octets_before = 0;
        int64_t time_us = 0;
        uint8_t track = 0;
        bool reports = false;
    };
    struct Track {
        uint32_t clock_rate = 90'000;
        uint32_t packets = 0;  // in a round
        uint64_t octets = 0;   // in a round
    };
    struct Builder;

    void add_report(const Message& message, uint32_t round, int64_t start_us);

    std::string description_;
    uint32_t round_ms_ = 0;
    std::vector<Track> tracks_;
    std::vector<Message> messages_;  // one for each of the script's
    std::vector<Packet> packets_;
    std::vector<uint8_t> bytes_;
    std::vector<uint8_t> reported_;  // a report and a message
};

}  // namespace load
