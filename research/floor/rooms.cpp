#include "floor/rooms.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "floor/die.h"
#include "floor/interval_bytes.h"

namespace {

constexpr int64_t kTurnMs = 5;
constexpr size_t kMaxRooms = 65536;

struct Room {
    int publisher = -1;
    std::vector<int> players;
};

class Rooms {
  public:
    Rooms(int listener, int64_t kbps, int64_t interval_ms)
        : listener_(listener), source_(kbps, interval_ms), turns_(static_cast<size_t>(interval_ms / kTurnMs)) {
        epoll_ = ::epoll_create1(0);
        if (epoll_ < 0) die("epoll_create1");
        control(EPOLL_CTL_ADD, listener_, EPOLLIN);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigprocmask(SIG_BLOCK, &set, nullptr);
        std::signal(SIGPIPE, SIG_IGN);
        signals_ = ::signalfd(-1, &set, SFD_NONBLOCK);
        control(EPOLL_CTL_ADD, signals_, EPOLLIN);
        timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
        const timespec every{0, kTurnMs * 1'000'000};
        const itimerspec spec{every, every};
        ::timerfd_settime(timer_, 0, &spec, nullptr);
        control(EPOLL_CTL_ADD, timer_, EPOLLIN);
    }

    void run() {
        std::array<epoll_event, 256> events;
        for (bool ended = false; !ended;) {
            const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
            for (int i = 0; i < count; ++i) {
                const int fd = events[static_cast<size_t>(i)].data.fd;
                if (fd == signals_) {
                    ended = true;
                } else if (fd == listener_) {
                    accept_all();
                } else if (fd == timer_) {
                    take_turns();
                } else {
                    begin(fd);
                }
            }
        }
        std::printf("rooms %zu, received %llu bytes, sent %llu bytes\n", rooms_.size(),
                    static_cast<unsigned long long>(received_), static_cast<unsigned long long>(sent_));
    }

  private:
    void control(int operation, int fd, uint32_t how) {
        epoll_event event{};
        event.events = how;
        event.data.fd = fd;
        if (::epoll_ctl(epoll_, operation, fd, &event) < 0) die("epoll_ctl");
    }

    void accept_all() {
        for (int fd; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;)
            control(EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLET);
    }

    // The first bytes of a connection. From then on it is not watched: a turn notices its end.
    void begin(int fd) {
        const ssize_t n = ::recv(fd, buffer_.data(), buffer_.size() - 1, 0);
        if (n < 0) return;
        control(EPOLL_CTL_DEL, fd, 0);
        buffer_[static_cast<size_t>(n)] = 0;
        const char* text = reinterpret_cast<const char*>(buffer_.data());
        if (n < 5 || std::strncmp(text, "GET /", 5) != 0) {
            room(next_++).publisher = fd;
            received_ += static_cast<uint64_t>(n);
        } else if (::write(fd, kResponse, sizeof kResponse) > 0) {
            room(std::strtoul(text + 5, nullptr, 10)).players.push_back(fd);
        } else {
            ::close(fd);
        }
    }

    Room& room(size_t number) {
        if (number >= kMaxRooms) die("too many rooms");
        if (number >= rooms_.size()) rooms_.resize(number + 1);
        return rooms_[number];
    }

    void take_turns() {
        uint64_t expirations;
        if (::read(timer_, &expirations, sizeof expirations) < 0) return;
        for (; expirations > 0; --expirations, ++turn_)
            for (size_t number = turn_ % turns_; number < rooms_.size(); number += turns_) pass(rooms_[number]);
    }

    void pass(Room& room) {
        if (room.publisher >= 0) {
            const ssize_t n = ::recv(room.publisher, buffer_.data(), buffer_.size(), 0);
            if (n > 0) received_ += static_cast<uint64_t>(n);
            if (n == 0) ::close(std::exchange(room.publisher, -1));
        }
        std::erase_if(room.players, [&](int fd) {
            if (source_.send_to(fd, sent_)) return false;
            ::close(fd);
            return true;
        });
    }

    int listener_, epoll_ = -1, signals_ = -1, timer_ = -1;
    IntervalBytes source_;
    const size_t turns_;
    size_t turn_ = 0, next_ = 0;
    std::vector<Room> rooms_;  // by number
    std::vector<uint8_t> buffer_ = std::vector<uint8_t>(256 * 1024);
    uint64_t received_ = 0, sent_ = 0;
};

}  // namespace

int run_rooms_floor(int listener, int64_t kbps, int64_t interval_ms) {
    Rooms(listener, kbps, interval_ms).run();
    return 0;
}
