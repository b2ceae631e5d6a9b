#include "floor/datagrams.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

#include "floor/die.h"
#include "floor/srtp_batch.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

namespace {

constexpr size_t kRtpHeader = 12, kMaxDatagramPayload = 1388;
// Of the imitated stream: a packet of audio a frame; of video one a frame at least.
constexpr int64_t kAudioPerSecond = 43, kVideoPerSecond = 25, kAudioPayload = 94;
constexpr size_t kMaxSegments = 64, kMaxMessageBytes = 60'000;  // of UDP_SEGMENT
constexpr size_t kMaxAtOnce = 64;                               // a call
constexpr size_t kMaxListeners = 100'000;

// One track's packets of one interval, all of one size.
class Track {
  public:
    Track(uint8_t payload_type, size_t count, size_t payload)
        : type_(payload_type), count_(count), packet_(kRtpHeader + payload), bytes_(count * packet_, 0x5a) {}

    // Numbers the packets of the next interval. Each is a unit of its own.
    void advance(uint32_t ticks) {
        timestamp_ += ticks;
        for (size_t i = 0; i < count_; ++i) {
            uint8_t* out = &bytes_[i * packet_];
            const uint16_t sequence = htons(sequence_++);
            const uint32_t words[] = {htonl(timestamp_ + static_cast<uint32_t>(i)), htonl(type_)};
            out[0] = 0x80;
            out[1] = static_cast<uint8_t>(0x80 | type_);
            std::memcpy(out + 2, &sequence, sizeof sequence);
            std::memcpy(out + 4, words, sizeof words);
        }
    }
    // The next message's packets, from the given one on. Returns how many.
    size_t message(size_t first, iovec& part) {
        const size_t n = std::min({count_ - first, kMaxSegments, kMaxMessageBytes / packet_});
        part = {&bytes_[first * packet_], n * packet_};
        return n;
    }
    size_t count() const { return count_; }
    size_t packet_size() const { return packet_; }

  private:
    uint8_t type_;
    size_t count_, packet_;
    uint16_t sequence_ = 0;
    uint32_t timestamp_ = 0;
    std::vector<uint8_t> bytes_;
};

Track video_track(int64_t kbps, int64_t interval_ms) {
    const int64_t audio = kAudioPayload * kAudioPerSecond * 8 / 1000;
    const int64_t bytes = std::max<int64_t>(kbps - audio, 50) * interval_ms / 8;
    const int64_t frames = std::max<int64_t>(kVideoPerSecond * interval_ms / 1000, 1);
    const int64_t full = (bytes + int64_t{kMaxDatagramPayload} - 1) / int64_t{kMaxDatagramPayload};
    const auto count = static_cast<size_t>(std::max(frames, full));
    return {96, count, static_cast<size_t>(bytes) / count};
}

class DatagramFloor {
  public:
    DatagramFloor(uint16_t port, int64_t kbps, int64_t interval_ms)
        : interval_ms_(interval_ms),
          tracks_{video_track(kbps, interval_ms),
                  {97, static_cast<size_t>(kAudioPerSecond * interval_ms / 1000 + 1), kAudioPayload}} {
        socket_ = open_floor_socket(port);
    }

    int run() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigprocmask(SIG_BLOCK, &set, nullptr);
        const int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
        const timespec every{interval_ms_ / 1000, interval_ms_ % 1000 * 1'000'000};
        const itimerspec spec{every, every};
        ::timerfd_settime(timer, 0, &spec, nullptr);
        pollfd watched[] = {{socket_, POLLIN, 0}, {timer, POLLIN, 0}, {::signalfd(-1, &set, SFD_NONBLOCK), POLLIN, 0}};
        while (!watched[2].revents) {
            if (::poll(watched, 3, -1) < 0) die("poll");
            if (watched[0].revents) take_players();
            uint64_t expirations = 0;
            if (watched[1].revents && ::read(timer, &expirations, sizeof expirations) > 0) send_interval();
        }
        std::printf("players %zu, sent %llu bytes in %llu calls, refused %llu\n", players_[0].size(),
                    static_cast<unsigned long long>(bytes_), static_cast<unsigned long long>(calls_),
                    static_cast<unsigned long long>(refused_));
        return 0;
    }

  private:
    struct Control {
        alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(uint16_t))];
    };

    void take_players() {
        uint8_t byte;
        sockaddr_in from{};
        socklen_t length = sizeof from;
        while (::recvfrom(socket_, &byte, 1, 0, reinterpret_cast<sockaddr*>(&from), &length) > 0)
            if (byte < players_.size() && players_[byte].size() < kMaxListeners) players_[byte].push_back(from);
    }

    void send_interval() {
        tracks_[0].advance(static_cast<uint32_t>(90 * interval_ms_));
        tracks_[1].advance(static_cast<uint32_t>(44'100 * interval_ms_ / 1000));
        const size_t players = std::max(players_[0].size(), players_[1].size());
        for (size_t i = 0; i < players; ++i)
            for (size_t track = 0; track < tracks_.size(); ++track)
                if (i < players_[track].size()) send_track(tracks_[track], players_[track][i]);
        flush();
    }

    void send_track(Track& track, sockaddr_in& to) {
        for (size_t first = 0; first < track.count();) {
            if (messages_ == kMaxAtOnce) flush();
            iovec& part = parts_[messages_];
            first += track.message(first, part);
            msghdr& header = headers_[messages_].msg_hdr;
            header = {};
            header.msg_name = &to;
            header.msg_namelen = sizeof to;
            header.msg_iov = &part;
            header.msg_iovlen = 1;
            header.msg_control = controls_[messages_].bytes;
            header.msg_controllen = sizeof controls_[messages_].bytes;
            cmsghdr* control = CMSG_FIRSTHDR(&header);
            control->cmsg_level = IPPROTO_UDP;
            control->cmsg_type = UDP_SEGMENT;
            control->cmsg_len = CMSG_LEN(sizeof(uint16_t));
            const auto size = static_cast<uint16_t>(track.packet_size());
            std::memcpy(CMSG_DATA(control), &size, sizeof size);
            ++messages_;
        }
    }

    void flush() {
        for (size_t first = 0; first < messages_;) {
            const int sent = ::sendmmsg(socket_, &headers_[first], static_cast<unsigned>(messages_ - first), 0);
            ++calls_;
            if (sent <= 0) {
                ++refused_;
                ++first;
                continue;
            }
            for (int i = 0; i < sent; ++i) bytes_ += headers_[first + static_cast<size_t>(i)].msg_len;
            first += static_cast<size_t>(sent);
        }
        messages_ = 0;
    }

    const int64_t interval_ms_;
    int socket_ = -1;
    std::array<Track, 2> tracks_;
    std::array<std::vector<sockaddr_in>, 2> players_;  // by track
    size_t messages_ = 0;
    std::array<mmsghdr, kMaxAtOnce> headers_{};
    std::array<iovec, kMaxAtOnce> parts_{};
    std::array<Control, kMaxAtOnce> controls_{};
    uint64_t bytes_ = 0, calls_ = 0, refused_ = 0;
};

}  // namespace

int run_datagram_floor(uint16_t port, int64_t kbps, int64_t interval_ms) {
    return DatagramFloor(port, kbps, interval_ms).run();
}
