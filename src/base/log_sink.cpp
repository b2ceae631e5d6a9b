#include "base/log_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace base::log {

namespace {
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

void Sink::write_line(std::string_view line) {
    std::lock_guard lock(mutex_);
    while (!line.empty()) {
        ssize_t n = ::write(descriptor_, line.data(), line.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            ++failed_lines_;
            return;
        }
        line.remove_prefix(static_cast<size_t>(n));
    }
}

void Sink::log(const spdlog::details::log_msg& message) {
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
