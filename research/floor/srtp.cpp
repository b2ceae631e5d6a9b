#define OPENSSL_SUPPRESS_DEPRECATED  // a cipher of one's own

#include "floor/srtp.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <openssl/evp.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "floor/die.h"

namespace {

constexpr int64_t kTickMs = 20;
constexpr int kTicksPerFrame = 2;     // 25 video frames a second
constexpr int kFramesPerGop = 50;     // two seconds
constexpr size_t kKeyframeTimes = 8;  // larger than the other frames
constexpr size_t kAudioBytes = 120;   // a tick: 48 kbit/s
constexpr size_t kMaxPayload = 1160;
constexpr size_t kHeader = 12, kTag = 16;
constexpr size_t kMaxMessages = 512;  // a call
constexpr size_t kArenaBytes = 1 << 20;

// OpenSSL's faster way, as long as it has it (src/protocol/srtp/cipher.cpp).
const EVP_CIPHER* aes_gcm() {
#if OPENSSL_VERSION_MAJOR < 4 && !defined(OPENSSL_NO_DEPRECATED_3_0)
    static const EVP_CIPHER* const own = EVP_CIPHER_meth_dup(EVP_aes_128_gcm());
    if (own) return own;
#endif
    return EVP_aes_128_gcm();
}

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
    EVP_CIPHER_CTX* cipher;
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
          payload_(1 << 20, 0x5a),
          arena_(kArenaBytes) {
        auto bytes_per_gop =
            static_cast<size_t>(packets.kbps * 1000 / 8 * kTickMs * kTicksPerFrame * kFramesPerGop / 1000);
        size_t audio = kAudioBytes * kTicksPerFrame * kFramesPerGop;
        frame_bytes_ = (bytes_per_gop - std::min(audio, bytes_per_gop / 2)) / (kFramesPerGop - 1 + kKeyframeTimes);
        open_socket(packets.port);
        headers_.resize(kMaxMessages);
        parts_.resize(kMaxMessages);
        controls_.resize(kMaxMessages);
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
        std::printf("players %zu, sent %llu packets, %llu bytes in %llu calls, refused %llu\n", players_.size(),
                    static_cast<unsigned long long>(packets_), static_cast<unsigned long long>(bytes_),
                    static_cast<unsigned long long>(calls_), static_cast<unsigned long long>(refused_));
        return 0;
    }

  private:
    struct Control {
        alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(uint16_t))];
    };

    void open_socket(uint16_t port) {
        socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        int size = 8 << 20;
        if (::setsockopt(socket_, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) < 0) {
            ::setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
        }
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0) die("bind");
    }

    void take_players() {
        uint8_t buffer[2048];
        sockaddr_in from{};
        socklen_t length = sizeof from;
        while (::recvfrom(socket_, buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&from), &length) >= 0) {
            EVP_CIPHER_CTX* cipher = EVP_CIPHER_CTX_new();
            uint8_t key[16];
            for (uint8_t& byte : key) byte = static_cast<uint8_t>(players_.size() + 1);
            if (!cipher || !EVP_EncryptInit_ex(cipher, aes_gcm(), nullptr, key, nullptr)) die("AES-GCM");
            players_.push_back({from, cipher});
        }
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
            size_t room = count * (kHeader + each + kTag);
            if (messages_ == kMaxMessages || used_ + room > arena_.size()) flush();
            size_t begin = used_;
            for (size_t at = 0; at < burst.bytes; at += each) {
                size_t size = std::min(each, burst.bytes - at);
                protect(player, burst, at, size, at + size == burst.bytes);
            }
            add_message(player, begin, kHeader + each + kTag, count > 1);
        }
        flush();
    }

    void protect(Player& player, const Burst& burst, size_t at, size_t size, bool last) {
        uint32_t sequence = player.sequence[burst.track]++;
        uint8_t* out = &arena_[used_];
        out[0] = 0x80;
        out[1] = static_cast<uint8_t>((burst.track ? 96 : 111) | (last && burst.track ? 0x80 : 0));
        put16(out + 2, sequence);
        put32(out + 4, burst.timestamp);
        put32(out + 8, static_cast<uint32_t>(burst.track + 1));
        uint8_t nonce[12] = {0};
        put32(nonce + 2, static_cast<uint32_t>(burst.track + 1));
        put32(nonce + 6, sequence >> 16);
        put16(nonce + 10, sequence);
        int written = 0;
        EVP_EncryptInit_ex(player.cipher, nullptr, nullptr, nullptr, nonce);
        EVP_EncryptUpdate(player.cipher, nullptr, &written, out, kHeader);
        EVP_EncryptUpdate(player.cipher, out + kHeader, &written, &payload_[at], static_cast<int>(size));
        EVP_EncryptFinal_ex(player.cipher, out + kHeader + size, &written);
        EVP_CIPHER_CTX_ctrl(player.cipher, EVP_CTRL_AEAD_GET_TAG, kTag, out + kHeader + size);
        used_ += kHeader + size + kTag;
        ++packets_;
    }

    void add_message(Player& player, size_t begin, size_t segment, bool several) {
        iovec& part = parts_[messages_];
        part = {&arena_[begin], used_ - begin};
        msghdr& header = headers_[messages_].msg_hdr;
        header = {};
        header.msg_name = &player.address;
        header.msg_namelen = sizeof player.address;
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        if (several) {
            header.msg_control = controls_[messages_].bytes;
            header.msg_controllen = sizeof controls_[messages_].bytes;
            cmsghdr* control = CMSG_FIRSTHDR(&header);
            control->cmsg_level = IPPROTO_UDP;
            control->cmsg_type = UDP_SEGMENT;
            control->cmsg_len = CMSG_LEN(sizeof(uint16_t));
            auto size = static_cast<uint16_t>(segment);
            std::memcpy(CMSG_DATA(control), &size, sizeof size);
        }
        ++messages_;
    }

    void flush() {
        for (size_t first = 0; first < messages_;) {
            int sent = ::sendmmsg(socket_, &headers_[first], static_cast<unsigned>(messages_ - first), 0);
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
        used_ = 0;
    }

    const uint64_t audio_ticks_;
    int socket_ = -1;
    std::vector<Player> players_;
    std::vector<uint8_t> payload_, arena_;
    size_t frame_bytes_ = 0, used_ = 0, messages_ = 0;
    std::vector<mmsghdr> headers_;
    std::vector<iovec> parts_;
    std::vector<Control> controls_;
    uint64_t ticks_ = 0, packets_ = 0, bytes_ = 0, calls_ = 0, refused_ = 0;
};

}  // namespace

int run_srtp_floor(const SrtpPackets& packets) { return SrtpFloor(packets).run(); }
