// Writing by io_uring: the writes of one loop iteration go to the kernel in one call, with a flag that passes them to
// its threads at once: a write to a growing file blocks, so a first non-blocking attempt would be wasted. Completions
// are reaped at multiples of 50 ms, because a wake-up of the loop for each would cost more than all other work for it.
// Only when other work waits for the completion, an eventfd in the loop's set reports it at once.

#include <liburing.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/log.h"
#include "runtime/disk/disk_engine.h"
#include "runtime/disk/disk_file.h"

namespace runtime::disk {
namespace {

constexpr unsigned kEntries = 512;       // of the submission queue; an iteration with more needs more calls
constexpr unsigned kCompletions = 4096;  // the kernel keeps further ones
constexpr unsigned kKernelThreads = 4;   // for operations that wait for the medium

class UringWriter final : public Writer, public ParkedHandler, private Timer {
  public:
    ~UringWriter() override;
    int open();  // 0 or errno

    void submit(const std::shared_ptr<File>& file, Write& write) override;

    void on_readable() override;
    void on_writable() override {}
    void on_hangup() override {}

  private:
    struct InFlight {
        std::shared_ptr<File> file;
        bool urgent = false;
    };
    static constexpr int64_t kReapMs = 50;
    void on_due() override { reap(); }
    void reap();
    int open_ring();
    io_uring_sqe* entry();
    void report_completions(bool on);

    io_uring ring_{};
    bool is_open_ = false;
    bool posted_ = false;  // on_readable() is due in this iteration
    detail::Watch watch_;
    size_t urgent_ = 0;
    // Indexed by the number that a completion carries.
    std::vector<InFlight> in_flight_;
    std::vector<uint32_t> free_;
};

int UringWriter::open_ring() {
    // Not IORING_SETUP_DEFER_TASKRUN: such a ring's descriptor never becomes readable inside an epoll set that is
    // polled itself (Linux 6.18).
    for (const unsigned flags : {IORING_SETUP_COOP_TASKRUN, 0u}) {
        io_uring_params params{};
        params.flags = flags | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
        params.cq_entries = kCompletions;
        const int result = io_uring_queue_init_params(kEntries, &ring_, &params);
        if (result == 0) {
            is_open_ = true;
            return params.features & IORING_FEAT_NODROP ? 0 : ENOSYS;
        }
        if (result != -EINVAL) return -result;
    }
    return EINVAL;
}

int UringWriter::open() {
    if (const int error = open_ring()) return error;
    unsigned threads[2] = {kKernelThreads, 0};
    io_uring_register_iowq_max_workers(&ring_, threads);  // an older kernel chooses the number itself
    const int ends = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (ends < 0) return errno;
    if (auto watched = watch_.open(ends, EPOLLIN | EPOLLET); !watched) return watched.error().system_errno();
    if (const int error = io_uring_register_eventfd(&ring_, ends)) return -error;
    report_completions(false);
    watch_.park(*this);
    return 0;
}

// The eventfd is never read: the epoll set reports each signal, not a state.
void UringWriter::report_completions(bool on) { io_uring_cq_eventfd_toggle(&ring_, on); }

UringWriter::~UringWriter() {
    if (!is_open_) return;
    watch_.close();
    io_uring_queue_exit(&ring_);
}

io_uring_sqe* UringWriter::entry() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry) return entry;
    io_uring_submit(&ring_);
    entry = io_uring_get_sqe(&ring_);
    CHECK(entry != nullptr);
    return entry;
}

void UringWriter::submit(const std::shared_ptr<File>& file, Write& write) {
    if (free_.empty()) {
        free_.push_back(static_cast<uint32_t>(in_flight_.size()));
        in_flight_.emplace_back();
    }
    const uint32_t number = free_.back();
    free_.pop_back();
    if (!is_set()) set((now_ms() / kReapMs + 1) * kReapMs);
    in_flight_[number] = {file, write.urgent};
    if (write.urgent && urgent_++ == 0) report_completions(true);
    io_uring_sqe* sqe = entry();
    io_uring_prep_writev(sqe, write.fd, write.parts.data(), write.count, write.offset);
    io_uring_sqe_set_data64(sqe, number);
    io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
    if (posted_) return;
    posted_ = true;
    watch_.post_readable();
}

void UringWriter::on_readable() {
    posted_ = false;
    io_uring_submit(&ring_);
    reap();
}

void UringWriter::reap() {
    io_uring_cqe* completion;
    while (io_uring_peek_cqe(&ring_, &completion) == 0) {
        const auto number = static_cast<uint32_t>(io_uring_cqe_get_data64(completion));
        const int result = completion->res;
        io_uring_cqe_seen(&ring_, completion);
        const auto [file, urgent] = std::exchange(in_flight_[number], {});
        free_.push_back(number);
        if (urgent && --urgent_ == 0) report_completions(false);
        file->on_written(result);
    }
    if (free_.size() < in_flight_.size()) set((now_ms() / kReapMs + 1) * kReapMs);
}

}  // namespace

base::Result<std::unique_ptr<Writer>> make_uring_writer() {
    auto writer = std::make_unique<UringWriter>();
    if (const int error = writer->open()) return base::fail_errno("io_uring", error);
    return writer;
}

}  // namespace runtime::disk
