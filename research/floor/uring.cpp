#include "floor/uring.h"

#include <liburing.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr unsigned kEntries = 32768;  // of the completion ring: a tick's arrivals
constexpr unsigned kBuffers = 8192;
constexpr size_t kBufferBytes = 4096;
constexpr int kGroup = 0;
constexpr uint64_t kAccept = UINT64_MAX;

volatile sig_atomic_t ended = 0;
void on_signal(int) { ended = 1; }

class UringFloor {
  public:
    explicit UringFloor(int listener) : listener_(listener) {}

    bool open() {
        io_uring_params params{};
        // The completions' work is done when we look, not by interrupting us for each.
        params.flags =
            IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
        params.cq_entries = kEntries;
        if (int error = io_uring_queue_init_params(1024, &ring_, &params); error < 0) return failed("io_uring", error);
        size_t bytes = kBuffers * sizeof(io_uring_buf);
        void* ring = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
        void* memory =
            mmap(nullptr, kBuffers * kBufferBytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
        if (ring == MAP_FAILED || memory == MAP_FAILED) return failed("mmap", -errno);
        buffers_ = static_cast<io_uring_buf_ring*>(ring);
        memory_ = static_cast<char*>(memory);
        io_uring_buf_reg registration{};
        registration.ring_addr = reinterpret_cast<uint64_t>(ring);
        registration.ring_entries = kBuffers;
        registration.bgid = kGroup;
        if (int error = io_uring_register_buf_ring(&ring_, &registration, 0); error < 0)
            return failed("a ring of buffers", error);
        io_uring_buf_ring_init(buffers_);
        for (unsigned i = 0; i < kBuffers; ++i) give_back(static_cast<uint16_t>(i), static_cast<int>(i));
        io_uring_buf_ring_advance(buffers_, kBuffers);
        io_uring_prep_multishot_accept(entry(), listener_, nullptr, nullptr, 0);
        last_->user_data = kAccept;
        return true;
    }

    void run(int64_t tick_ms) {
        timespec tick{tick_ms / 1000, tick_ms % 1000 * 1'000'000};
        while (!ended) {
            nanosleep(&tick, nullptr);
            // Newer kernels do 20 pieces of deferred work per call, however many there are: without this loop a
            // connection would be read whenever its turn comes, every 100 ms and more.
            do {
                io_uring_submit_and_get_events(&ring_);
                handle_all();
            } while (!ended && (io_uring_smp_load_acquire(ring_.sq.kflags) & IORING_SQ_TASKRUN));
        }
        std::printf("connections %llu, received %llu bytes in %llu completions, sent 0 bytes\n",
                    static_cast<unsigned long long>(accepted_), static_cast<unsigned long long>(received_),
                    static_cast<unsigned long long>(receives_));
    }

  private:
    static bool failed(const char* what, int error) {
        std::fprintf(stderr, "%s: %s\n", what, std::strerror(-error));
        return false;
    }

    io_uring_sqe* entry() {
        last_ = io_uring_get_sqe(&ring_);
        if (!last_) {
            io_uring_submit(&ring_);
            last_ = io_uring_get_sqe(&ring_);
        }
        return last_;
    }

    void give_back(uint16_t id, int place) {
        io_uring_buf_ring_add(buffers_, memory_ + id * kBufferBytes, kBufferBytes, id, kBuffers - 1, place);
    }

    void receive_from(int fd) {
        io_uring_prep_recv_multishot(entry(), fd, nullptr, 0, 0);
        last_->flags |= IOSQE_BUFFER_SELECT;
        last_->buf_group = kGroup;
        last_->user_data = static_cast<uint64_t>(fd);
    }

    void handle_all() {
        io_uring_cqe* completion;
        unsigned head, seen = 0;
        returned_ = 0;
        io_uring_for_each_cqe(&ring_, head, completion) {
            ++seen;
            handle(*completion);
        }
        io_uring_buf_ring_advance(buffers_, returned_);
        io_uring_cq_advance(&ring_, seen);
    }

    void handle(const io_uring_cqe& completion) {
        bool more = completion.flags & IORING_CQE_F_MORE;
        if (completion.user_data == kAccept) {
            if (completion.res >= 0) {
                ++accepted_;
                receive_from(completion.res);
            }
            if (!more) {
                io_uring_prep_multishot_accept(entry(), listener_, nullptr, nullptr, 0);
                last_->user_data = kAccept;
            }
            return;
        }
        int fd = static_cast<int>(completion.user_data);
        if (completion.flags & IORING_CQE_F_BUFFER)
            give_back(static_cast<uint16_t>(completion.flags >> IORING_CQE_BUFFER_SHIFT), returned_++);
        if (completion.res > 0) {
            received_ += static_cast<uint64_t>(completion.res);
            ++receives_;
        }
        if (more) return;
        if (completion.res > 0 || completion.res == -ENOBUFS)
            receive_from(fd);
        else
            close(fd);
    }

    int listener_;
    io_uring ring_{};
    io_uring_buf_ring* buffers_ = nullptr;
    char* memory_ = nullptr;
    io_uring_sqe* last_ = nullptr;
    int returned_ = 0;  // buffers given back in this tick
    uint64_t accepted_ = 0, received_ = 0, receives_ = 0;
};

}  // namespace

int run_uring_floor(int listener, int64_t tick_ms) {
    for (int number : {SIGTERM, SIGINT}) std::signal(number, on_signal);
    static UringFloor floor(listener);
    if (!floor.open()) return 3;
    floor.run(tick_ms);
    return 0;
}
