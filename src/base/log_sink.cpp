#include "base/log_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"

namespace base::log {

namespace {

constexpr int64_t kOverrunsEveryMs = 1'000;

void close_descriptor(int descriptor) {
    if (descriptor > STDERR_FILENO) ::close(descriptor);
}
}  // namespace

Sink::~Sink() { close_descriptor(descriptor_); }

Result<void> Sink::open(const std::string& path) {
    int descriptor = STDOUT_FILENO;
    if (!path.empty()) {
        descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (descriptor < 0) return fail_errno(fmt::format("opening the log file {}", path), errno);
    }
    std::lock_guard lock(mutex_);
    close_descriptor(std::exchange(descriptor_, descriptor));
    return {};
}

// False: some of it is not written.
bool Sink::write_all(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            lost_error_ = errno;
            return false;
        }
        is_torn_ = true;
        bytes.remove_prefix(static_cast<size_t>(n));
    }
    is_torn_ = false;
    return true;
}

bool Sink::tell_losses() {
    if (is_torn_ && !write_all("\n")) return false;
    if (lost_lines_ == 0) return true;
    if (!write_all(notice_(lost_lines_, lost_error_))) return false;
    lost_lines_ = 0;
    return true;
}

void Sink::write_line(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (tell_losses() && write_all(line)) return;
    ++lost_lines_;
    ++failed_lines_;
}

void Sink::tell_overruns() {
    const uint64_t now = overruns_ ? overruns_() : 0;
    if (now == overruns_told_ || monotonic_ms() - overruns_told_ms_ < kOverrunsEveryMs) return;
    write_line(notice_(now - overruns_told_, 0));
    overruns_told_ = now;
    overruns_told_ms_ = monotonic_ms();
}

void Sink::log(const spdlog::details::log_msg& message) {
    tell_overruns();
    write_line({message.payload.data(), message.payload.size()});
}

void Sink::flush() {
    std::lock_guard lock(flush_mutex_);
    ++flushes_;
    flushed_.notify_all();
}

uint64_t Sink::flushes() {
    std::lock_guard lock(flush_mutex_);
    return flushes_;
}

void Sink::wait_flush(uint64_t before, int ms) {
    std::unique_lock lock(flush_mutex_);
    flushed_.wait_for(lock, std::chrono::milliseconds(ms), [&] { return flushes_ != before; });
}

}  // namespace base::log
