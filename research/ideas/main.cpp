// What other ways of sending would bring the fan-out: the same bytes to many sockets by one send each, by io_uring in
// batches (with registered descriptors too), and by sendfile from a memfd. The ways take turns, round by round, so that
// a bad second is everybody's; each prints the median of its rounds, in microseconds of the sender's processor time per
// send, and the median and quartiles of its ratio to the send of the same turn.
// `objs/ideas [SOCKETS] [ROUNDS]`; a child process reads it all. doc/decisions/012 has what came of it.

#include <arpa/inet.h>
#include <liburing.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

constexpr useconds_t kPauseUs = 2'000;  // between two looks at whether the reader has emptied all sockets
constexpr int kMaxPauses = 500;
constexpr unsigned kBatch = 256;

[[noreturn]] void die(const char* what) {
    std::perror(what);
    std::exit(1);
}

void run_on(unsigned core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    ::sched_setaffinity(0, sizeof cores, &cores);  // on a single core: stays where it is
}

// The child: reads and throws away, until nobody is left.
[[noreturn]] void read_all(const std::vector<int>& sockets) {
    run_on(1);
    const int epoll = ::epoll_create1(0);
    for (int fd : sockets) {
        epoll_event event{};
        event.events = EPOLLIN | EPOLLET;
        event.data.fd = fd;
        if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) die("epoll_ctl");
    }
    static std::array<char, 256 * 1024> nowhere;
    std::array<epoll_event, 256> events;
    for (size_t left = sockets.size(); left > 0;) {
        const int count = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
        for (int i = 0; i < count; ++i) {
            ssize_t n;
            do {
                n = ::recv(events[static_cast<size_t>(i)].data.fd, nowhere.data(), nowhere.size(),
                           MSG_TRUNC | MSG_DONTWAIT);
            } while (n > 0);
            if (n == 0) --left;
        }
    }
    std::exit(0);
}

// Both ends of so many loopback connections.
void connect_pairs(size_t count, std::vector<int>& senders, std::vector<int>& readers) {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) < 0 || ::listen(listener, 128) < 0) die("listen");
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    for (size_t i = 0; i < count; ++i) {
        const int reader = ::socket(AF_INET, SOCK_STREAM, 0);
        if (reader < 0 || ::connect(reader, reinterpret_cast<sockaddr*>(&address), size) < 0) die("connect");
        readers.push_back(reader);
        senders.push_back(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK));
    }
    ::close(listener);
}

double cpu_us() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto us = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
    };
    return us(usage.ru_utime) + us(usage.ru_stime);
}

class Sender {
  public:
    Sender(std::vector<int> sockets, size_t bytes) : sockets_(std::move(sockets)), bytes_(bytes) {
        file_ = ::memfd_create("block", 0);
        if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(bytes)) < 0) die("memfd_create");
        block_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_, 0);
        if (block_ == MAP_FAILED) die("mmap");
        io_uring_params params{};
        params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
        uring_ = io_uring_queue_init_params(kBatch, &ring_, &params) == 0;
        if (uring_ && io_uring_register_files(&ring_, sockets_.data(), static_cast<unsigned>(sockets_.size())) < 0)
            die("io_uring_register_files");
    }
    ~Sender() {
        if (uring_) io_uring_queue_exit(&ring_);
        ::munmap(block_, bytes_);
        ::close(file_);
    }
    bool uring() const { return uring_; }

    void by_send() {
        for (int fd : sockets_) count_sent(::send(fd, block_, bytes_, MSG_NOSIGNAL | MSG_DONTWAIT));
    }
    void by_sendfile() {
        for (int fd : sockets_) {
            off_t offset = 0;
            count_sent(::sendfile(fd, file_, &offset, bytes_));
        }
    }
    void by_uring() { in_batches(false); }
    void by_uring_registered() { in_batches(true); }
    size_t take_short() { return std::exchange(short_, 0); }
    // Until the reader has taken everything.
    void wait_for_reader() const {
        for (int i = 0; i < kMaxPauses; ++i) {
            ::usleep(kPauseUs);
            if (std::ranges::none_of(sockets_, [](int fd) {
                    int unsent = 0;
                    return ::ioctl(fd, SIOCOUTQ, &unsent) == 0 && unsent > 0;
                }))
                return;
        }
    }

  private:
    void in_batches(bool registered) {
        for (size_t i = 0; i < sockets_.size(); i += kBatch) {
            const size_t count = std::min<size_t>(kBatch, sockets_.size() - i);
            for (size_t k = 0; k < count; ++k) {
                io_uring_sqe* entry = io_uring_get_sqe(&ring_);
                const int fd = registered ? static_cast<int>(i + k) : sockets_[i + k];
                io_uring_prep_send(entry, fd, block_, bytes_, MSG_NOSIGNAL | MSG_DONTWAIT);
                if (registered) entry->flags |= IOSQE_FIXED_FILE;
            }
            io_uring_submit_and_wait(&ring_, static_cast<unsigned>(count));
            io_uring_cqe* done;
            for (size_t k = 0; k < count; ++k) {
                if (io_uring_wait_cqe(&ring_, &done) < 0) die("io_uring_wait_cqe");
                count_sent(done->res);
                io_uring_cqe_seen(&ring_, done);
            }
        }
    }
    void count_sent(ssize_t sent) { short_ += sent != static_cast<ssize_t>(bytes_); }

    std::vector<int> sockets_;
    size_t bytes_;
    int file_ = -1;
    void* block_ = nullptr;
    io_uring ring_{};
    bool uring_ = true;
    size_t short_ = 0;
};

using Way = void (Sender::*)();
constexpr std::array<Way, 4> kWays = {&Sender::by_send, &Sender::by_uring, &Sender::by_uring_registered,
                                      &Sender::by_sendfile};
constexpr std::array<const char*, kWays.size()> kNames = {"send", "io_uring", "io_uring, registered", "sendfile"};

double quantile(std::vector<double> values, double q) {
    std::ranges::sort(values);
    return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

void measure(const std::vector<int>& sockets, size_t bytes, int rounds) {
    Sender sender(sockets, bytes);
    std::array<std::vector<double>, kWays.size()> us, ratio;
    size_t cut = 0;
    for (int round = -2; round < rounds; ++round) {
        std::array<double, kWays.size()> spent{};
        for (size_t turn = 0; turn < kWays.size(); ++turn) {
            const size_t way = (turn + static_cast<size_t>(round + 2)) % kWays.size();  // nobody is always the first
            if (kNames[way][0] == 'i' && !sender.uring()) continue;
            const double before = cpu_us();
            (sender.*kWays[way])();
            spent[way] = (cpu_us() - before) / static_cast<double>(sockets.size());
            sender.wait_for_reader();
        }
        cut += sender.take_short();
        if (round < 0) continue;  // warm-up
        for (size_t way = 0; way < kWays.size(); ++way) {
            us[way].push_back(spent[way]);
            ratio[way].push_back(spent[way] / spent[0]);
        }
    }
    for (size_t way = 0; way < kWays.size(); ++way)
        std::printf("| %zu | %zu | %s | %.2f | %.2f (%.2f-%.2f) |\n", sockets.size(), bytes, kNames[way],
                    quantile(us[way], 0.5), quantile(ratio[way], 0.5), quantile(ratio[way], 0.25),
                    quantile(ratio[way], 0.75));
    if (cut) std::printf("%zu sends fell short: their sockets were full\n", cut);
}

}  // namespace

int main(int argc, char** argv) {
    const size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 20;
    if (count < 1 || count > 9000 || rounds < 1 || rounds > 1000) {
        std::fputs("usage: ideas [SOCKETS, to 9000] [ROUNDS, to 1000]\n", stderr);
        return 2;
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::vector<int> senders, readers;
    connect_pairs(count, senders, readers);
    const pid_t child = ::fork();
    if (child < 0) die("fork");
    if (child == 0) {
        for (int fd : senders) ::close(fd);
        read_all(readers);
    }
    for (int fd : readers) ::close(fd);
    run_on(0);
    std::printf("| sockets | bytes | way | us per send | to send (quartiles) |\n|---|---|---|---|---|\n");
    for (size_t bytes : {1'200u, 10'400u, 44'000u, 60'000u}) measure(senders, bytes, rounds);
    for (int fd : senders) ::close(fd);
    ::waitpid(child, nullptr, 0);
}
