// Writing by io_uring: the writes of one turn of the loop go to the kernel in one call, and their ends come through the
// ring's descriptor in the loop's own set. What the kernel cannot do at once (a file that grows) it does in threads of
// its own.

#include <liburing.h>

#include <cerrno>
#include <vector>

#include "base/log.h"
#include "runtime/disk_engine.h"
#include "runtime/disk_file.h"

namespace runtime::disk {
namespace {

constexpr unsigned kEntries = 512;       // of the submission queue; a turn with more takes more calls
constexpr unsigned kCompletions = 4096;  // the kernel keeps what is more
constexpr unsigned kKernelThreads = 4;   // for what waits for the medium

class UringWriter final : public Writer, public ParkedHandler {
  public:
    ~UringWriter() override;
    int open();  // 0 or errno

    void submit(const std::shared_ptr<File>& file, Write& write) override;

    void on_readable() override;
    void on_writable() override {}
    void on_hangup() override {}

  private:
    int open_ring();
    io_uring_sqe* entry();

    io_uring ring_{};
    bool is_open_ = false;
    bool posted_ = false;  // on_readable() comes in this turn
    detail::Watch watch_;
    // By the number that a completion carries.
    std::vector<std::shared_ptr<File>> under_way_;
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
    io_uring_register_iowq_max_workers(&ring_, threads);  // an older kernel has its own idea
    if (auto watched = watch_.open(ring_.ring_fd, EPOLLIN); !watched) {
        is_open_ = false;  // the descriptor is closed
        return watched.error().system_errno();
    }
    watch_.park(*this);
    return 0;
}

UringWriter::~UringWriter() {
    if (!is_open_) return;
    if (watch_.fd() >= 0) watch_.forget();
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
        free_.push_back(static_cast<uint32_t>(under_way_.size()));
        under_way_.emplace_back();
    }
    const uint32_t number = free_.back();
    free_.pop_back();
    under_way_[number] = file;
    io_uring_sqe* sqe = entry();
    io_uring_prep_writev(sqe, write.fd, write.parts.data(), write.count, write.offset);
    io_uring_sqe_set_data64(sqe, number);
    if (posted_) return;
    posted_ = true;
    watch_.post_readable();
}

void UringWriter::on_readable() {
    posted_ = false;
    io_uring_submit(&ring_);
    io_uring_cqe* completion;
    while (io_uring_peek_cqe(&ring_, &completion) == 0) {
        const auto number = static_cast<uint32_t>(io_uring_cqe_get_data64(completion));
        const int result = completion->res;
        io_uring_cqe_seen(&ring_, completion);
        const auto file = std::move(under_way_[number]);
        free_.push_back(number);
        file->on_written(result);
    }
}

}  // namespace

base::Result<std::unique_ptr<Writer>> make_uring_writer() {
    auto writer = std::make_unique<UringWriter>();
    if (const int error = writer->open()) return base::fail_errno("io_uring", error);
    return writer;
}

}  // namespace runtime::disk
