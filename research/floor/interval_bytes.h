#pragma once
// An interval's bytes of an imitated stream, as the floors send them to players by HTTP.

#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

// Messages per second of the imitated stream: 25 video frames and 43 audio frames.
constexpr int kMessagesPerSecond = 68;
constexpr size_t kTagOverhead = 11 + 4;
// With the terminating 0 as the last byte of the FLV header's previous-tag-size.
constexpr char kResponse[] = "HTTP/1.1 200 OK\r\nContent-Type: video/x-flv\r\n\r\nFLV\x01\x05\0\0\0\x09\0\0\0";

// One interval's worth of audio tags, each with a place of its own in memory, as a server's message queue has.
class IntervalBytes {
  public:
    IntervalBytes(int64_t kbps, int64_t interval_ms) {
        size_t total = static_cast<size_t>(kbps * interval_ms / 8);
        size_t count = static_cast<size_t>(kMessagesPerSecond * interval_ms / 1000 + 1);
        size_t tag = std::max(total / count, kTagOverhead + 2);
        tags_.resize(count, std::vector<uint8_t>(tag, 7));
        for (auto& bytes : tags_) {
            write_tag(bytes);
            parts_.push_back({bytes.data(), bytes.size()});
        }
    }
    // False when the connection is broken.
    bool send_to(int fd, uint64_t& sent) {
        ssize_t n = ::writev(fd, parts_.data(), static_cast<int>(parts_.size()));
        if (n > 0) sent += static_cast<uint64_t>(n);
        return n >= 0 || errno == EAGAIN;
    }

  private:
    static void write_tag(std::vector<uint8_t>& tag) {
        size_t body = tag.size() - kTagOverhead;
        std::memset(tag.data(), 0, 11);
        tag[0] = 8;
        tag[1] = static_cast<uint8_t>(body >> 16);
        tag[2] = static_cast<uint8_t>(body >> 8);
        tag[3] = static_cast<uint8_t>(body);
        tag[11] = 0xaf;  // AAC ...
        tag[12] = 1;     // ... raw
        size_t previous = body + 11;
        for (int i = 0; i < 4; ++i) tag[tag.size() - 4 + i] = static_cast<uint8_t>(previous >> (24 - 8 * i));
    }
    std::vector<std::vector<uint8_t>> tags_;
    std::vector<iovec> parts_;
};
