// Injected faults: for tests only.

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "base/log.h"
#include "runtime/disk/disk_engine.h"

namespace runtime::disk {
namespace {

constexpr int64_t kFaultCheckMs = 1000;

int errno_of(std::string_view name) {
    if (name == "ENOSPC") return ENOSPC;
    if (name == "EACCES") return EACCES;
    if (name == "ENOENT") return ENOENT;
    return name == "EIO" ? EIO : 0;
}

template <class T>
bool parse_number(std::string_view text, T& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
}

bool apply(Fault& fault, std::string_view key, std::string_view value) {
    if (key == "path") {
        fault.path = value;
        return true;
    }
    if (key == "op") {
        const bool any = value == "any";
        fault.on_open |= any || value == "open";
        fault.on_write |= any || value == "write";
        fault.on_close |= any || value == "close";
        fault.on_read |= value == "read";
        return fault.on_open || fault.on_write || fault.on_close || fault.on_read;
    }
    if (key == "error") {
        fault.error = errno_of(value);
        return fault.error != 0;
    }
    if (key == "delay_ms") return parse_number(value, fault.delay_ms);
    if (key == "from_offset") return parse_number(value, fault.from_offset);
    return false;
}

std::string read_small(const std::string& path) {
    std::array<char, 4096> bytes;
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {};
    const ssize_t got = read(fd, bytes.data(), bytes.size());
    close(fd);
    return got > 0 ? std::string(bytes.data(), static_cast<size_t>(got)) : std::string();
}

}  // namespace

base::Result<Fault> parse_fault(std::string_view text) {
    Fault fault;
    while (!text.empty()) {
        const size_t end = std::min(text.find_first_of(" \n"), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (word.empty()) continue;
        const size_t equals = word.find('=');
        if (equals == std::string_view::npos || !apply(fault, word.substr(0, equals), word.substr(equals + 1)))
            return base::fail(base::Code::kConfig, fmt::format("'{}' is not a disk fault", word));
    }
    return fault;
}

const Fault* Engine::fault_of(Step step, const std::string& path, uint64_t offset) {
    if (!fault_file_.empty()) [[unlikely]]
        check_fault_file();
    if (!fault_) [[likely]]
        return nullptr;
    const bool meant = step == Step::kOpen    ? fault_->on_open
                       : step == Step::kWrite ? fault_->on_write
                       : step == Step::kRead  ? fault_->on_read
                                              : fault_->on_close;
    if (!meant || offset < fault_->from_offset || path.find(fault_->path) == std::string::npos) return nullptr;
    return fault_.get();
}

ReadFault Engine::read_fault(const std::string& path) {
    const Fault* fault = fault_of(Step::kRead, path, 0);
    return fault ? ReadFault{fault->delay_ms, fault->error} : ReadFault{};
}

// Reads a file on the loop: only when a test has requested it.
void Engine::check_fault_file() {
    const int64_t now = base::monotonic_ms();
    if (now - fault_checked_ms_ < kFaultCheckMs) return;
    fault_checked_ms_ = now;
    const std::string text = read_small(fault_file_);
    if (text.empty()) return set_fault(nullptr);
    auto fault = parse_fault(text);
    if (!fault) return base::log::error("disk: {}: {}", fault_file_, fault.error().describe());
    set_fault(std::make_unique<Fault>(std::move(*fault)));
}

ReadFault read_fault(const std::string& path) { return engine().read_fault(path); }

}  // namespace runtime::disk
