#include "floor/srtp.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <vector>

#include "floor/die.h"
#include "floor/srtp_batch.h"

namespace {

constexpr int64_t kTickMs = 20;
constexpr int kTicksPerFrame = 2;     // 25 video frames a second
constexpr int kFramesPerGop = 50;     // two seconds
constexpr size_t kKeyframeTimes = 8;  // larger than the other frames
constexpr size_t kAudioBytes = 120;   // a tick: 48 kbit/s
constexpr size_t kMaxPayload = 1160;

void put16(uint8_t* p, uint32_t value) {
    p[0] = static_cast<uint8_t>(value >> 8);
    p[1] = static_cast<uint8_t>(value);
}

void put32(uint8_t* p, uint32_t value) {
    put16(p, value >> 16);
    put16(p + 2, value);
}

struct Player {
    sockaddr_in address;
    CipherContext cipher;
    uint32_t sequence[2] = {0, 0};
};

// What is sent at one moment: one or more payloads of one track.
struct Burst {
    int track;  // 0: audio, 1: video
    size_t bytes;
    uint32_t timestamp;
};

class SrtpFloor {
  public:
    explicit SrtpFloor(const SrtpPackets& packets)
        : audio_ticks_(static_cast<uint64_t>(packets.audio_ms / kTickMs)),
          socket_(open_floor_socket(packets.port)),
          payload_(1 << 20, 0x5a),
          batch_(socket_) {
        auto bytes_per_gop =
            static_cast<size_t>(packets.kbps * 1000 / 8 * kTickMs * kTicksPerFrame * kFramesPerGop / 1000);
        size_t audio = kAudioBytes * kTicksPerFrame * kFramesPerGop;
        frame_bytes_ = (bytes_per_gop - std::min(audio, bytes_per_gop / 2)) / (kFramesPerGop - 1 + kKeyframeTimes);
    }

    int run() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigprocmask(SIG_BLOCK, &set, nullptr);
        int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
        timespec every{0, kTickMs * 1'000'000};
        itimerspec spec{every, every};
        ::timerfd_settime(timer, 0, &spec, nullptr);
        pollfd watched[] = {{socket_, POLLIN, 0}, {timer, POLLIN, 0}, {::signalfd(-1, &set, SFD_NONBLOCK), POLLIN, 0}};
        while (!watched[2].revents) {
            if (::poll(watched, 3, -1) < 0) die("poll");
            if (watched[0].revents) take_players();
            uint64_t expirations = 0;
            if (watched[1].revents && ::read(timer, &expirations, sizeof expirations) < 0) expirations = 0;
            for (; expirations > 0; --expirations) tick();
        }
        const auto& counts = batch_.counts();
        std::printf("players %zu, sent %llu packets, %llu bytes in %llu calls, refused %llu\n", players_.size(),
                    static_cast<unsigned long long>(counts.packets), static_cast<unsigned long long>(counts.bytes),
                    static_cast<unsigned long long>(counts.calls), static_cast<unsigned long long>(counts.refused));
        return 0;
    }

  private:
    void take_players() {
        uint8_t buffer[2048];
        sockaddr_in from{};
        socklen_t length = sizeof from;
        while (::recvfrom(socket_, buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&from), &length) >= 0)
            players_.push_back({from, make_srtp_cipher(static_cast<uint8_t>(players_.size() + 1), false)});
    }

    void tick() {
        if (ticks_ % audio_ticks_ == 0) {
            send_to_all({0, kAudioBytes * audio_ticks_, static_cast<uint32_t>(ticks_ * 960)});
        }
        if (ticks_ % kTicksPerFrame == 0) {
            bool key = ticks_ / kTicksPerFrame % kFramesPerGop == 0;
            send_to_all({1, key ? frame_bytes_ * kKeyframeTimes : frame_bytes_, static_cast<uint32_t>(ticks_ * 1800)});
        }
        ++ticks_;
    }

    void send_to_all(const Burst& burst) {
        size_t count = (burst.bytes + kMaxPayload - 1) / kMaxPayload;
        size_t each = (burst.bytes + count - 1) / count;
        for (Player& player : players_) {
            batch_.begin(player.address, player.cipher, count * (kSrtpHeader + each + kSrtpTag));
            for (size_t at = 0; at < burst.bytes; at += each) {
                size_t size = std::min(each, burst.bytes - at);
                add(player, burst, at, size, at + size == burst.bytes);
            }
        }
        batch_.flush();
    }

    void add(Player& player, const Burst& burst, size_t at, size_t size, bool last) {
        uint8_t header[kSrtpHeader];
        header[0] = 0x80;
        header[1] = static_cast<uint8_t>((burst.track ? 96 : 111) | (last && burst.track ? 0x80 : 0));
        put16(header + 2, player.sequence[burst.track]++);
        put32(header + 4, burst.timestamp);
        put32(header + 8, static_cast<uint32_t>(burst.track + 1));
        batch_.add(header, &payload_[at], size);
    }

    const uint64_t audio_ticks_;
    const int socket_;
    std::vector<Player> players_;
    std::vector<uint8_t> payload_;
    SrtpBatch batch_;
    size_t frame_bytes_ = 0;
    uint64_t ticks_ = 0;
};

}  // namespace

int run_srtp_floor(const SrtpPackets& packets) { return SrtpFloor(packets).run(); }
