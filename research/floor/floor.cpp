// floor: the least that a single-threaded server can do, as a measuring stick for the real one. It shares no code with
// the server, so that it measures the kernel and nothing of ours.
//
//   floor PORT KBPS INTERVAL_MS   To every connection that sends anything: an HTTP response head and an FLV header,
//   then
//                                 one writev of the interval's bytes per socket and interval. The bytes are well-formed
//                                 FLV tags of constant size, so that a reader can check the framing.
//   floor --publish PORT          Accepts, does one recv per arrival, counts and throws away. As a server that answers
//                                 does, it lets the kernel acknowledge every second segment (see acknowledge_less).
//   floor --publish-turns PORT INTERVAL_MS
//                                 The same without events for input: each connection is read once per interval, spread
//                                 over it in turns of 5 ms.
//   floor --publish-uring PORT TICK_MS
//                                 The same by io_uring: multishot receives, looked at once per tick.
//   floor --srtp PORT KBPS [SOUND_MS]
//                                 WebRTC players: see floor/srtp.h.
//   floor --srtp-rooms PORT       Many WebRTC publishers with few players each: see floor/srtp_rooms.h.
//   floor --rooms PORT KBPS INTERVAL_MS
//                                 Many publishers with few players each: see floor/rooms.h.
//   floor --datagrams PORT KBPS INTERVAL_MS
//                                 RTSP players by UDP: see floor/datagrams.h.
//   floor --srt PORT KBPS INTERVAL_MS
//                                 SRT players and publishers: see floor/srt.h.
//   floor --hls PORT KBPS PART_MS [CERTIFICATE KEY]
//                                 Players of low-latency HLS: see floor/hls.h. With the files: over HTTP/2.
//
// It does not parse requests, queue for slow readers (what a socket does not take is lost, the framing with it) or end
// by itself. SIGTERM ends it; it then says what it moved.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "floor/datagrams.h"
#include "floor/die.h"
#include "floor/hls.h"
#include "floor/interval_bytes.h"
#include "floor/rooms.h"
#include "floor/srt.h"
#include "floor/srtp.h"
#include "floor/srtp_rooms.h"
#include "floor/uring.h"

namespace {

class Floor {
  public:
    // source: null for publishers, who are read as bytes arrive, or once per interval where there is one.
    Floor(uint16_t port, IntervalBytes* source, int64_t interval_ms)
        : source_(source), turns_(source ? 0 : interval_ms / kTurnMs) {
        raise_open_file_limit();
        epoll_ = ::epoll_create1(0);
        if (epoll_ < 0) die("epoll_create1");
        listener_ = listening_socket(port);
        watch(listener_);
        watch_signals();
        if (source_) start_timer(interval_ms);
        if (turns_) start_timer(kTurnMs);
    }

    void run() {
        std::array<epoll_event, 256> events;
        while (!ended_) {
            int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
            for (int i = 0; i < count; ++i) handle(events[static_cast<size_t>(i)].data.fd);
        }
        std::printf("connections %llu, received %llu bytes in %llu calls, sent %llu bytes\n",
                    static_cast<unsigned long long>(accepted_), static_cast<unsigned long long>(received_),
                    static_cast<unsigned long long>(receives_), static_cast<unsigned long long>(sent_));
    }

  private:
    static constexpr int64_t kTurnMs = 5;

    void watch(int fd, uint32_t how = EPOLLIN) {
        epoll_event event{};
        event.events = how;
        event.data.fd = fd;
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) < 0) die("epoll_ctl");
    }

  public:
    static int listening_socket(uint16_t port) {
        int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        int on = 1;
        ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0) die("bind");
        if (::listen(listener, 4096) < 0) die("listen");
        return listener;
    }
    static void raise_open_file_limit() {
        rlimit limit;
        if (::getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }

  private:
    void watch_signals() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigprocmask(SIG_BLOCK, &set, nullptr);
        std::signal(SIGPIPE, SIG_IGN);
        signals_ = ::signalfd(-1, &set, SFD_NONBLOCK);
        watch(signals_);
    }

    void start_timer(int64_t interval_ms) {
        timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
        timespec every{interval_ms / 1000, interval_ms % 1000 * 1'000'000};
        itimerspec spec{every, every};
        ::timerfd_settime(timer_, 0, &spec, nullptr);
        watch(timer_);
    }

    void handle(int fd) {
        if (fd == listener_) {
            accept_all();
        } else if (fd == timer_) {
            if (turns_)
                receive_by_turns();
            else
                send_interval();
        } else if (fd == signals_) {
            ended_ = true;
        } else {
            receive(fd);
        }
    }

    void accept_all() {
        for (int fd; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
            ++accepted_;
            // By edges: a short read has emptied the socket, and the kernel need not look at it again.
            watch(fd, turns_ ? EPOLLRDHUP | EPOLLET : EPOLLIN | EPOLLET);
            if (turns_) mark(publishing_, fd);
            if (!source_) acknowledge_less(fd);
        }
    }

    // A connection on which nothing was ever sent is acknowledged with every read. One that has answered, as every
    // server does in its handshake, acknowledges every second segment, or after 40 ms. Without this the floor sends
    // half as many segments again as nginx, and is dearer. The kernel forgets it when those 40 ms have passed once.
    static void acknowledge_less(int fd) {
        int off = 0;
        ::setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof off);
    }

    void send_interval() {
        uint64_t expirations;
        if (::read(timer_, &expirations, sizeof expirations) < 0) return;
        for (size_t fd = 0; fd < playing_.size(); ++fd) {
            if (playing_[fd] && !source_->send_to(static_cast<int>(fd), sent_)) close_connection(static_cast<int>(fd));
        }
    }

    void receive_by_turns() {
        uint64_t expirations;
        if (::read(timer_, &expirations, sizeof expirations) < 0) return;
        for (; expirations > 0; --expirations, ++turn_) {
            for (size_t fd = static_cast<size_t>(turn_ % turns_); fd < publishing_.size(); fd += turns_)
                if (publishing_[fd]) receive(static_cast<int>(fd));
        }
    }

    void receive(int fd) {
        ssize_t n;
        do {
            n = ::recv(fd, buffer_.data(), buffer_.size(), 0);
            if (n < 0 && errno == EAGAIN) return;
            if (n <= 0) return close_connection(fd);
            received_ += static_cast<uint64_t>(n);
            ++receives_;
        } while (static_cast<size_t>(n) == buffer_.size());
        if (!source_ && receives_ % 64 == 0) acknowledge_less(fd);
        if (source_ && !is_playing(fd)) start_playing(fd);
    }

    bool is_playing(int fd) const {
        return static_cast<size_t>(fd) < playing_.size() && playing_[static_cast<size_t>(fd)];
    }

    void start_playing(int fd) {
        if (::write(fd, kResponse, sizeof kResponse) < 0) return close_connection(fd);
        mark(playing_, fd);
    }

    static void mark(std::vector<char>& set, int fd) {
        if (set.size() <= static_cast<size_t>(fd)) set.resize(static_cast<size_t>(fd) + 1);
        set[static_cast<size_t>(fd)] = true;
    }

    void close_connection(int fd) {
        if (is_playing(fd)) playing_[static_cast<size_t>(fd)] = false;
        if (static_cast<size_t>(fd) < publishing_.size()) publishing_[static_cast<size_t>(fd)] = false;
        ::close(fd);
    }

    IntervalBytes* source_;  // null: publishers
    int epoll_ = -1, listener_ = -1, timer_ = -1, signals_ = -1;
    bool ended_ = false;
    int64_t turns_, turn_ = 0;                // in how many turns publishers are read; 0: as bytes arrive
    std::vector<char> playing_, publishing_;  // by descriptor
    std::vector<uint8_t> buffer_ = std::vector<uint8_t>(256 * 1024);
    uint64_t accepted_ = 0, received_ = 0, receives_ = 0, sent_ = 0;
};

int usage() {
    std::fputs(
        "usage: floor PORT KBPS INTERVAL_MS\n       floor --publish PORT\n       floor --publish-turns PORT "
        "INTERVAL_MS\n"
        "       floor --publish-uring PORT TICK_MS\n       floor --srtp PORT KBPS [SOUND_MS]\n"
        "       floor --srtp-rooms PORT\n"
        "       floor --rooms PORT KBPS INTERVAL_MS\n       floor --datagrams PORT KBPS INTERVAL_MS\n"
        "       floor --srt PORT KBPS INTERVAL_MS\n"
        "       floor --hls PORT KBPS PART_MS [CERTIFICATE KEY]\n",
        stderr);
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() == 2 && arguments[0] == "--publish") {
        Floor(static_cast<uint16_t>(std::atoi(arguments[1].c_str())), nullptr, 0).run();
        return 0;
    }
    if ((arguments.size() == 3 || arguments.size() == 4) && arguments[0] == "--srtp") {
        SrtpPackets packets{.port = static_cast<uint16_t>(std::atoi(arguments[1].c_str())),
                            .kbps = std::atoll(arguments[2].c_str())};
        if (arguments.size() == 4) packets.audio_ms = std::atoll(arguments[3].c_str());
        if (packets.kbps < 100 || packets.kbps > 100'000 || packets.audio_ms < 20 || packets.audio_ms > 120 ||
            packets.audio_ms % 20 != 0)
            return usage();
        return run_srtp_floor(packets);
    }
    if (arguments.size() == 2 && arguments[0] == "--srtp-rooms")
        return run_srtp_rooms_floor(static_cast<uint16_t>(std::atoi(arguments[1].c_str())));
    if (arguments.size() == 4 && (arguments[0] == "--datagrams" || arguments[0] == "--srt")) {
        const int64_t kbps = std::atoll(arguments[2].c_str()), interval_ms = std::atoll(arguments[3].c_str());
        if (kbps < 100 || kbps > 100'000 || interval_ms < 20 || interval_ms > 1000) return usage();
        const auto port = static_cast<uint16_t>(std::atoi(arguments[1].c_str()));
        return arguments[0] == "--srt" ? run_srt_floor(port, kbps, interval_ms)
                                       : run_datagram_floor(port, kbps, interval_ms);
    }
    if ((arguments.size() == 4 || arguments.size() == 6) && arguments[0] == "--hls") {
        const int64_t kbps = std::atoll(arguments[2].c_str()), part_ms = std::atoll(arguments[3].c_str());
        if (kbps < 1 || kbps > 100'000 || part_ms < 50 || part_ms > 2000) return usage();
        Floor::raise_open_file_limit();
        const int listener = Floor::listening_socket(static_cast<uint16_t>(std::atoi(arguments[1].c_str())));
        if (arguments.size() == 4) return run_hls_floor(listener, kbps, part_ms);
        return run_hls_http2_floor(listener, kbps, part_ms, arguments[4].c_str(), arguments[5].c_str());
    }
    if (arguments.size() == 4 && arguments[0] == "--rooms") {
        const int64_t kbps = std::atoll(arguments[2].c_str()), interval_ms = std::atoll(arguments[3].c_str());
        if (kbps < 1 || interval_ms < 5 || interval_ms > 1000) return usage();
        Floor::raise_open_file_limit();
        return run_rooms_floor(Floor::listening_socket(static_cast<uint16_t>(std::atoi(arguments[1].c_str()))), kbps,
                               interval_ms);
    }
    if (arguments.size() != 3) return usage();
    if (arguments[0] == "--publish-turns") {
        int64_t interval_ms = std::atoll(arguments[2].c_str());
        if (interval_ms < 5 || interval_ms > 1000) return usage();
        Floor(static_cast<uint16_t>(std::atoi(arguments[1].c_str())), nullptr, interval_ms).run();
        return 0;
    }
    if (arguments[0] == "--publish-uring") {
        int64_t tick_ms = std::atoll(arguments[2].c_str());
        if (tick_ms < 1 || tick_ms > 1000) return usage();
        Floor::raise_open_file_limit();
        return run_uring_floor(Floor::listening_socket(static_cast<uint16_t>(std::atoi(arguments[1].c_str()))),
                               tick_ms);
    }
    int port = std::atoi(arguments[0].c_str());
    int64_t kbps = std::atoll(arguments[1].c_str()), interval_ms = std::atoll(arguments[2].c_str());
    // One writev takes at most 1024 parts.
    if (port < 1 || port > 65535 || kbps < 1 || interval_ms < 1 || interval_ms > 15'000) return usage();
    IntervalBytes source(kbps, interval_ms);
    Floor(static_cast<uint16_t>(port), &source, interval_ms).run();
}
