#pragma once
// Script: what a publisher sends, encoded once for all publishers: RTMP chunks (Adobe RTMP 1.0, 5.3), one message after
// the other, each with a full header at whose fixed place the timestamp is put before it is sent.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace load {

// Of the made-up stream that `bench publish` repeats.
inline constexpr uint32_t kMarkedSeconds = 10;

class Script {
  public:
    struct Message {
        uint32_t timestamp_ms = 0;
        uint32_t offset = 0;  // in the script's bytes
        uint32_t size = 0;    // with its chunk header
        uint8_t type = 0;
    };
    // Timestamps up to here fit the header without an extended field; publishing ends before it.
    static constexpr uint32_t kMaxTimestamp = 0xfffffe;

    // The tags of an FLV file. Its first tags up to the first frame are headers: they are not repeated.
    static base::Result<Script> from_flv(std::span<const uint8_t> file);
    // A made-up stream of that bitrate with a mark in each frame (see mark_of): 25 video frames a second, a keyframe
    // every two seconds, 43 AAC frames a second. Well-formed H.264 and AAC as far as a server looks.
    static Script marked(uint32_t kbps, uint32_t seconds);

    const std::vector<Message>& messages() const { return messages_; }
    uint32_t repeat_from() const { return repeat_from_; }
    uint32_t round_ms() const { return round_ms_; }  // a round's length: from the first frame to that of the next round
    // Of the GOP so far, on average over all messages: what a server that keeps it holds at any time.
    size_t average_gop_bytes() const { return average_gop_; }
    double kbps() const;

    // The message's bytes with that timestamp and message stream id in it; valid until the next call.
    std::span<const uint8_t> encode(uint32_t index, uint32_t timestamp_ms, uint32_t stream_id);

    // The message's body: an FLV tag's.
    std::vector<uint8_t> body(uint32_t index) const;

  private:
    void add(uint8_t type, uint32_t timestamp_ms, std::span<const uint8_t> body);
    void finish();

    std::vector<uint8_t> bytes_;
    std::vector<Message> messages_;
    uint32_t repeat_from_ = 0;
    uint32_t round_ms_ = 0;
    size_t average_gop_ = 0;
};

// The number of the message in a marked script whose body begins so, or -1.
int64_t mark_of(uint8_t type, std::span<const uint8_t> head);

base::Result<std::vector<uint8_t>> read_file(const std::string& path);

}  // namespace load
