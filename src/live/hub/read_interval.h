#pragma once
// ReadInterval: how often the connection of a publisher is to be read, so that one read gets several messages, and each
// round over the viewers begins with a read. One for each connection. Times are the loop's.

#include <cstddef>
#include <cstdint>

namespace live {

class Stream;

class ReadInterval {
  public:
    // What recorders and segmenters, and streams that nobody gets, tolerate.
    static constexpr int64_t kLongMs = 150;

    struct Options {
        int64_t merge_ms = 0;      // play { mw_latency }
        bool min_latency = false;  // players get each message as it arrives
    };

    void record_read(int64_t now_us, size_t bytes);
    // Audio or video came.
    void record_media(int64_t now_us);
    // Its first seconds: each message is to be read as it arrives.
    bool starts() const;
    // ms between reads, 0: as messages arrive.
    int64_t ms(const Stream& stream, const Options& options) const;

  private:
    static int64_t wanted_ms(const Stream& stream, const Options& options);

    int64_t first_media_us_ = 0;  // 0: none came
    int64_t last_media_us_ = 0;
    int64_t last_read_us_ = 0;
    size_t uncounted_bytes_ = 0;  // since the rate was last computed
    int64_t bytes_per_s_ = 0;     // of the last reads
};

}  // namespace live
