#include "floor/srtp_rooms.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <unordered_map>
#include <vector>

#include "floor/die.h"
#include "floor/srtp_batch.h"

namespace {

constexpr size_t kDatagrams = 64;  // of one receive
constexpr size_t kDatagramBytes = 2048;
constexpr size_t kMaxSrtpRooms = 65536;

struct Datagram {
    uint8_t* bytes;
    size_t size;
};

struct Viewer {
    sockaddr_in address;
    CipherContext cipher;
};

struct SrtpRoom {
    CipherContext cipher = nullptr;  // the publisher's
    std::vector<Viewer> viewers;
    std::vector<Datagram> packets;  // of this turn
};

class SrtpRooms {
  public:
    explicit SrtpRooms(uint16_t port)
        : socket_(open_floor_socket(port)), batch_(socket_), bytes_(kDatagrams * kDatagramBytes) {
        for (size_t i = 0; i < kDatagrams; ++i) parts_[i] = {&bytes_[i * kDatagramBytes], kDatagramBytes};
    }

    int run() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigprocmask(SIG_BLOCK, &set, nullptr);
        pollfd watched[] = {{socket_, POLLIN, 0}, {::signalfd(-1, &set, SFD_NONBLOCK), POLLIN, 0}};
        while (!watched[1].revents) {
            if (::poll(watched, 2, -1) < 0) die("poll");
            while (const size_t count = receive()) turn(count);
        }
        const auto& counts = batch_.counts();
        std::printf("rooms %zu, received %llu packets in %llu calls, sent %llu packets in %llu calls, refused %llu\n",
                    rooms_.size(), static_cast<unsigned long long>(received_),
                    static_cast<unsigned long long>(receives_), static_cast<unsigned long long>(counts.packets),
                    static_cast<unsigned long long>(counts.calls), static_cast<unsigned long long>(counts.refused));
        return 0;
    }

  private:
    size_t receive() {
        for (size_t i = 0; i < kDatagrams; ++i) {
            headers_[i].msg_hdr = {};
            headers_[i].msg_hdr.msg_name = &from_[i];
            headers_[i].msg_hdr.msg_namelen = sizeof from_[i];
            headers_[i].msg_hdr.msg_iov = &parts_[i];
            headers_[i].msg_hdr.msg_iovlen = 1;
        }
        const int count = ::recvmmsg(socket_, headers_, kDatagrams, 0, nullptr);
        ++receives_;
        return count > 0 ? static_cast<size_t>(count) : 0;
    }

    void turn(size_t count) {
        for (size_t i = 0; i < count; ++i) {
            const Datagram packet{&bytes_[i * kDatagramBytes], headers_[i].msg_len};
            if (packet.size == 4) {
                begin(from_[i], packet.bytes);
            } else if (auto found = publishers_.find(key_of(from_[i]));
                       found != publishers_.end() && packet.size > kSrtpHeader + kSrtpTag) {
                take(found->second, packet);
            }
        }
        for (size_t number : touched_) send(rooms_[number]);
        batch_.flush();
        touched_.clear();
    }

    void begin(const sockaddr_in& from, const uint8_t* bytes) {
        const size_t number = static_cast<size_t>(bytes[1] << 16 | bytes[2] << 8 | bytes[3]);
        if (number >= kMaxSrtpRooms) die("too many rooms");
        if (number >= rooms_.size()) rooms_.resize(number + 1);
        SrtpRoom& room = rooms_[number];
        if (bytes[0] == 'p') {
            room.cipher = make_srtp_cipher(static_cast<uint8_t>(number), true);
            publishers_[key_of(from)] = number;
        } else {
            room.viewers.push_back({from, make_srtp_cipher(static_cast<uint8_t>(room.viewers.size() + 1), false)});
        }
    }

    void take(size_t number, const Datagram& packet) {
        ++received_;
        SrtpRoom& room = rooms_[number];
        open_srtp(room.cipher, packet.bytes, packet.size);
        if (room.packets.empty()) touched_.push_back(number);
        room.packets.push_back(packet);
    }

    void send(SrtpRoom& room) {
        size_t bytes = 0;
        for (const Datagram& packet : room.packets) bytes += packet.size;
        for (const Viewer& viewer : room.viewers) {
            batch_.begin(viewer.address, viewer.cipher, bytes);
            for (const Datagram& packet : room.packets)
                batch_.add(packet.bytes, packet.bytes + kSrtpHeader, packet.size - kSrtpHeader - kSrtpTag);
        }
        room.packets.clear();
    }

    static uint64_t key_of(const sockaddr_in& address) {
        return uint64_t{address.sin_addr.s_addr} << 16 | address.sin_port;
    }

    const int socket_;
    SrtpBatch batch_;
    std::vector<uint8_t> bytes_;
    mmsghdr headers_[kDatagrams];
    iovec parts_[kDatagrams];
    sockaddr_in from_[kDatagrams];
    std::vector<SrtpRoom> rooms_;  // by number
    std::unordered_map<uint64_t, size_t> publishers_;
    std::vector<size_t> touched_;  // numbers of rooms with packets of this turn
    uint64_t received_ = 0, receives_ = 0;
};

}  // namespace

int run_srtp_rooms_floor(uint16_t port) { return SrtpRooms(port).run(); }
