#pragma once
// What the floors for low-latency HLS share: the newest part, the playlist that has it, and the loop's descriptors.

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

// A part each part_ms, of so many kbit/s.
class HlsParts {
  public:
    HlsParts(int64_t kbps, int64_t part_ms);

    int timer() const { return timer_; }  // readable: next() is to be called
    // False: there is no further part.
    bool next();
    const std::string& playlist() const { return playlist_; }  // in gzip
    size_t part_bytes() const { return part_bytes_; }
    static bool is_playlist(const char* request);
    // Whether the playlist has what the request waits for (_HLS_msn, _HLS_part).
    bool has(const char* request) const;

  private:
    void start_timer();
    void make_playlist();

    const int64_t part_ms_;
    const size_t part_bytes_;
    int timer_ = -1;
    int64_t begin_ms_ = 0;
    uint64_t count_ = 0;  // of parts that are there
    std::string playlist_;
};

// epoll, ended by SIGTERM.
class FloorLoop {
  public:
    FloorLoop();
    void watch(int fd, uint32_t how);
    // Calls handle(event) for each until SIGTERM.
    void run(auto handle) {
        std::array<epoll_event, 256> events;
        while (true) {
            const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
            for (int i = 0; i < count; ++i) {
                if (events[static_cast<size_t>(i)].data.fd == signals_) return;
                handle(events[static_cast<size_t>(i)]);
            }
        }
    }

  private:
    int epoll_ = -1, signals_ = -1;
};
