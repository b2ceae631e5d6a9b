#include "floor/srt.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

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

constexpr size_t kHeader = 16, kPayload = 1316, kFullAck = 28;
constexpr size_t kSrtSegments = 45;  // of one message to the kernel: below 64 kB
constexpr size_t kAtOnce = 64;       // messages in a call
constexpr size_t kDatagram = 2048;
constexpr size_t kMaxIds = 100'000;
constexpr int64_t kAckMs = 10, kBurstMs = 40;
constexpr uint32_t kSingleMessage = 0xe0000000, kMaxMessage = 0x3ffffff;
constexpr uint32_t kAck = 0x80020000, kAckAck = 0x80060000;

int64_t now_us() {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

uint32_t word(const uint8_t* bytes) {
    uint32_t value;
    std::memcpy(&value, bytes, sizeof value);
    return ntohl(value);
}

void put_words(uint8_t* out, std::initializer_list<uint32_t> words) {
    for (uint32_t value : words) {
        value = htonl(value);
        std::memcpy(out, &value, sizeof value);
        out += sizeof value;
    }
}

int timer_of(int64_t ms) {
    const int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    const timespec every{ms / 1000, ms % 1000 * 1'000'000};
    const itimerspec spec{every, every};
    if (timer < 0 || ::timerfd_settime(timer, 0, &spec, nullptr) < 0) die("timerfd");
    return timer;
}

bool has_expired(const pollfd& timer) {
    uint64_t expirations = 0;
    return timer.revents && ::read(timer.fd, &expirations, sizeof expirations) > 0;
}

struct SrtPeer {
    sockaddr_in address{};
    uint32_t id = 0;
    int64_t start_us = 0;
    uint32_t next = 0;  // sequence number: to be sent, or expected
    uint32_t acks = 0;
    bool has_news = false;  // since the last ACK
};

class SrtFloor {
  public:
    SrtFloor(uint16_t port, int64_t kbps, int64_t interval_ms) : interval_ms_(interval_ms) {
        socket_ = open_floor_socket(port);
        messages_ = std::max<size_t>((static_cast<size_t>(kbps * interval_ms / 8) + kPayload / 2) / kPayload, 1);
        for (size_t i = 0; i < payload_.size(); i += 188) payload_[i] = 0x47;
        for (size_t i = 0; i < kAtOnce; ++i) {
            parts_in_[i] = {in_[i].data(), kDatagram};
            headers_in_[i].msg_hdr.msg_iov = &parts_in_[i];
            headers_in_[i].msg_hdr.msg_iovlen = 1;
            headers_in_[i].msg_hdr.msg_name = &from_[i];
        }
    }

    int run() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigprocmask(SIG_BLOCK, &set, nullptr);
        pollfd watched[] = {{socket_, POLLIN, 0},
                            {timer_of(interval_ms_), POLLIN, 0},
                            {timer_of(kAckMs), POLLIN, 0},
                            {timer_of(kBurstMs), POLLIN, 0},
                            {::signalfd(-1, &set, SFD_NONBLOCK), POLLIN, 0}};
        while (!watched[4].revents) {
            // A server without publishers has nothing to acknowledge.
            watched[2].events = publishers_.empty() ? int16_t{0} : int16_t{POLLIN};
            // Nor one whose interval fits one burst anything to pace.
            watched[3].events = unsent_ == 0 ? int16_t{0} : int16_t{POLLIN};
            if (::poll(watched, 5, -1) < 0) die("poll");
            if (watched[0].revents) receive();
            if (has_expired(watched[3])) send_burst();
            if (has_expired(watched[1])) send_interval();
            if (has_expired(watched[2])) acknowledge();
        }
        std::printf("players %zu, publishers %zu, received %llu bytes, sent %llu bytes in %llu calls, refused %llu\n",
                    players_.size(), publishers_.size(), static_cast<unsigned long long>(received_),
                    static_cast<unsigned long long>(sent_), static_cast<unsigned long long>(calls_),
                    static_cast<unsigned long long>(refused_));
        return 0;
    }

  private:
    struct Control {
        alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(uint16_t))];
    };

    void receive() {
        for (;;) {
            for (mmsghdr& header : headers_in_) header.msg_hdr.msg_namelen = sizeof(sockaddr_in);
            const int count = ::recvmmsg(socket_, headers_in_.data(), kAtOnce, MSG_DONTWAIT, nullptr);
            const int64_t now = now_us();
            for (int i = 0; i < count; ++i)
                take(in_[static_cast<size_t>(i)].data(), headers_in_[static_cast<size_t>(i)].msg_len,
                     from_[static_cast<size_t>(i)], now);
            flush();
            if (count < static_cast<int>(kAtOnce)) return;
        }
    }

    void take(const uint8_t* datagram, size_t size, const sockaddr_in& from, int64_t now) {
        received_ += size;
        if (size == 4) return take_hello(datagram, from, now);
        if (size < kHeader) return;
        const uint32_t id = word(datagram + 12);
        if (!(datagram[0] & 0x80)) return take_data(word(datagram), id);
        if (word(datagram) == kAck && word(datagram + 4) != 0 && id < kMaxIds) {
            uint8_t* out = add(from, kHeader + 4);
            put_words(out, {kAckAck, word(datagram + 4), static_cast<uint32_t>(now), id, 0});
        }
    }

    void take_hello(const uint8_t* datagram, const sockaddr_in& from, int64_t now) {
        const uint32_t id = word(datagram) & 0xffffff;
        if (id >= kMaxIds) return;
        auto& peers = datagram[0] == 'p' ? publishers_ : players_;
        if (datagram[0] == 'p') {
            if (by_id_.size() <= id) by_id_.resize(id + 1, kMaxIds);
            by_id_[id] = static_cast<uint32_t>(peers.size());
        }
        peers.push_back({.address = from, .id = id, .start_us = now});
    }

    void take_data(uint32_t sequence, uint32_t id) {
        if (id >= by_id_.size() || by_id_[id] >= publishers_.size()) return;
        SrtPeer& publisher = publishers_[by_id_[id]];
        publisher.next = sequence + 1;
        publisher.has_news = true;
    }

    void acknowledge() {
        const int64_t now = now_us();
        for (SrtPeer& publisher : publishers_) {
            if (!publisher.has_news) continue;
            publisher.has_news = false;
            put_words(add(publisher.address, kHeader + kFullAck),
                      {kAck, ++publisher.acks, static_cast<uint32_t>(now - publisher.start_us), publisher.id,
                       publisher.next, 1000, 500, 8192, 100, 1000, 100'000});
        }
        flush();
    }

    void send_interval() {
        unsent_ += messages_;
        send_burst();
    }

    void send_burst() {
        const int64_t now = now_us();
        const size_t count = std::min(kSrtSegments, unsent_);
        unsent_ -= count;
        for (SrtPeer& player : players_) send_to(player, count, now);
        flush();
    }

    void send_to(SrtPeer& player, size_t count, int64_t now) {
        if (messages_out_ == kAtOnce) flush();
        iovec* parts = &parts_[messages_out_ * 2 * kSrtSegments];
        uint8_t* headers = &headers_[messages_out_ * kSrtSegments * kHeader];
        for (size_t i = 0; i < count; ++i) {
            const uint32_t number = player.next++;
            put_words(headers + i * kHeader, {number, kSingleMessage | (number % kMaxMessage + 1),
                                              static_cast<uint32_t>(now - player.start_us), player.id});
            parts[2 * i] = {headers + i * kHeader, kHeader};
            parts[2 * i + 1] = {payload_.data(), kPayload};
        }
        msghdr& header = begin(player.address);
        header.msg_iov = parts;
        header.msg_iovlen = 2 * count;
        header.msg_control = controls_[messages_out_].bytes;
        header.msg_controllen = sizeof controls_[messages_out_].bytes;
        cmsghdr* control = CMSG_FIRSTHDR(&header);
        control->cmsg_level = IPPROTO_UDP;
        control->cmsg_type = UDP_SEGMENT;
        control->cmsg_len = CMSG_LEN(sizeof(uint16_t));
        const auto size = static_cast<uint16_t>(kHeader + kPayload);
        std::memcpy(CMSG_DATA(control), &size, sizeof size);
        ++messages_out_;
    }

    // A datagram of that size, to be filled in before the next call.
    uint8_t* add(const sockaddr_in& to, size_t size) {
        if (messages_out_ == kAtOnce) flush();
        uint8_t* out = &headers_[messages_out_ * kSrtSegments * kHeader];
        iovec& part = parts_[messages_out_ * 2 * kSrtSegments];
        part = {out, size};
        msghdr& header = begin(to);
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        ++messages_out_;
        return out;
    }

    msghdr& begin(const sockaddr_in& to) {
        addresses_[messages_out_] = to;
        msghdr& header = out_[messages_out_].msg_hdr;
        header = {};
        header.msg_name = &addresses_[messages_out_];
        header.msg_namelen = sizeof to;
        return header;
    }

    void flush() {
        for (size_t first = 0; first < messages_out_;) {
            const int sent = ::sendmmsg(socket_, &out_[first], static_cast<unsigned>(messages_out_ - first), 0);
            ++calls_;
            if (sent <= 0) {
                ++refused_;
                ++first;
                continue;
            }
            for (int i = 0; i < sent; ++i) sent_ += out_[first + static_cast<size_t>(i)].msg_len;
            first += static_cast<size_t>(sent);
        }
        messages_out_ = 0;
    }

    const int64_t interval_ms_;
    int socket_ = -1;
    size_t messages_;    // of an interval
    size_t unsent_ = 0;  // of the present one
    std::vector<SrtPeer> players_, publishers_;
    std::vector<uint32_t> by_id_;  // of publishers
    std::array<uint8_t, kPayload> payload_{};

    std::array<std::array<uint8_t, kDatagram>, kAtOnce> in_;
    std::array<iovec, kAtOnce> parts_in_{};
    std::array<sockaddr_in, kAtOnce> from_{};
    std::array<mmsghdr, kAtOnce> headers_in_{};

    size_t messages_out_ = 0;
    std::array<mmsghdr, kAtOnce> out_{};
    std::array<sockaddr_in, kAtOnce> addresses_{};
    std::array<Control, kAtOnce> controls_{};
    std::vector<iovec> parts_ = std::vector<iovec>(kAtOnce * 2 * kSrtSegments);
    std::vector<uint8_t> headers_ = std::vector<uint8_t>(kAtOnce * kSrtSegments * kHeader);
    uint64_t received_ = 0, sent_ = 0, calls_ = 0, refused_ = 0;
};

}  // namespace

int run_srt_floor(uint16_t port, int64_t kbps, int64_t interval_ms) { return SrtFloor(port, kbps, interval_ms).run(); }
