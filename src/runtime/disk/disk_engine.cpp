#include "runtime/disk/disk_engine.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "runtime/disk/disk_file.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/services.h"

namespace runtime::disk {
namespace {

constexpr int64_t kBetweenWarningsMs = 5000;
constexpr int64_t kMaxAtEndMs = 5000;

Engine* the_engine = nullptr;  // owned; exit() leaves it and its threads alone

// On a worker. -errno: it failed.
int write_once(const Write& write) {
    while (true) {
        const ssize_t n =
            pwritev(write.fd, write.parts.data(), static_cast<int>(write.count), static_cast<off_t>(write.offset));
        if (n >= 0) return static_cast<int>(n);
        if (errno != EINTR) return -errno;
    }
}

Settings bounded(Settings s) {
    s.buffer_bytes = std::bit_floor(std::clamp(s.buffer_bytes, BufferPool::kMinBytes, BufferPool::kMaxBytes));
    s.flush_ms = std::clamp<int64_t>(s.flush_ms, 100, 3000);
    s.file_limit_bytes = std::max(s.file_limit_bytes, 2 * s.buffer_bytes);
    s.total_limit_bytes = std::max(s.total_limit_bytes, s.file_limit_bytes);
    return s;
}

}  // namespace

base::Result<void> Engine::start(const Settings& settings) {
    settings_ = bounded(settings);
    TRY(pool_.start());
    if (const char* text = std::getenv("DISK_FAULT")) {
        if (*text == '@')
            fault_file_ = text + 1;
        else
            fault_ = std::make_unique<Fault>(TRY(parse_fault(text), "DISK_FAULT"));
        base::log::warn("disk: faults are injected: DISK_FAULT={}", text);
    }
    return {};
}

void Engine::change(const Settings& settings) { settings_ = bounded(settings); }

void Engine::stop() {
    const auto deadline = Deadline::in_ms(kMaxAtEndMs);
    while ((operations || paths.size()) && !deadline.passed()) {
        if (!sleep_ms(5)) break;
    }
    late_.clear();
    pool_.stop();
}

void Engine::later(int64_t delay_ms, std::move_only_function<void()> go) {
    Late& late = late_.emplace_back();
    late.all = &late_;
    late.self = std::prev(late_.end());
    late.go = std::move(go);
    late.set(now_ms() + delay_ms);
}

void Engine::Late::on_due() {
    auto call = std::move(go);
    all->erase(self);  // this object
    call();
}

void Engine::run_step(std::initializer_list<Step> steps, const std::string& path, std::move_only_function<int()> work,
                      std::move_only_function<void(int)> done) {
    auto job = std::make_unique<detail::ThreadJob>();
    auto* result = &job->result;
    const Fault* fault = nullptr;
    for (const Step step : steps) fault = fault ? fault : fault_of(step, path, 0);
    job->work = [result, work = std::move(work), error = fault ? fault->error : 0]() mutable {
        *result = error ? error : work();
    };
    job->done = [this, result, done = std::move(done)]() mutable {
        --operations;
        done(*result);
    };
    ++operations;
    if (!fault || !fault->delay_ms) return pool_.submit(std::move(job));
    later(fault->delay_ms, [this, job = std::move(job)]() mutable { pool_.submit(std::move(job)); });
}

void Engine::run_long(std::move_only_function<void()> work, std::move_only_function<void()> done) {
    auto job = std::make_unique<detail::ThreadJob>();
    job->is_long = true;
    job->work = std::move(work);
    job->done = [this, done = std::move(done)]() mutable {
        --operations;
        done();
    };
    ++operations;
    pool_.submit(std::move(job));
}

void Engine::write(const std::shared_ptr<File>& file, Write& write) {
    const Fault* fault = fault_of(Step::kWrite, file->path(), write.offset);
    auto job = std::make_unique<detail::ThreadJob>();
    auto* result = &job->result;
    job->work = [&write, result, error = fault ? fault->error : 0] { *result = error ? -error : write_once(write); };
    job->done = [file, result] { file->on_written(*result); };
    if (!fault || !fault->delay_ms) return pool_.submit(std::move(job));
    later(fault->delay_ms, [this, job = std::move(job)]() mutable { pool_.submit(std::move(job)); });
}

void Engine::warn_slow(const std::string& path, const char* what, int64_t ms) {
    const int64_t now = base::monotonic_ms();
    if (warned_ms_ && now - warned_ms_ < kBetweenWarningsMs) return;
    warned_ms_ = now;
    ++slow_warnings_;
    base::log::warn(
        "the disk is slow: {} {} takes {} ms already; {} operations are under way, {} kB wait for it (at "
        "most {} kB of one file, {} kB of all)",
        what, path, ms, operations, queued_bytes / 1024, settings_.file_limit_bytes / 1024,
        settings_.total_limit_bytes / 1024);
}

void Engine::count_error(const base::Error& error, bool dropped) {
    ++files_failed_;
    if (dropped) ++files_dropped_;
    last_error_ = error.text();
}

base::Result<void> Engine::drain(Deadline deadline) {
    while (operations || files_open || paths.size()) {
        if (deadline.passed())
            return base::fail(base::Code::kTimeout, fmt::format("{} operations of the disk are still under way, {} "
                                                                "files open, {} bytes not written",
                                                                operations, files_open, queued_bytes));
        TRY(sleep_ms(5));
    }
    return {};
}

Status Engine::status() const {
    Status s;
    s.files_open = files_open;
    s.operations = operations;
    s.bytes_in_flight = queued_bytes;
    s.bytes_buffered = buffers.bytes();
    s.bytes_written = bytes_written;
    s.writes = writes;
    s.files_failed = files_failed_;
    s.files_dropped = files_dropped_;
    s.slow_warnings = slow_warnings_;
    s.last_error = last_error_;
    return s;
}

Engine& engine() {
    if (!the_engine) {
        auto started = start({});
        CHECK(started.has_value());
    }
    return *the_engine;
}

base::Result<void> start(const Settings& settings) {
    if (the_engine) {
        the_engine->change(settings);
        return {};
    }
    auto fresh = std::make_unique<Engine>();
    TRY(fresh->start(settings));
    the_engine = fresh.release();
    detail::stop_at_shutdown(detail::Service::kDisk, [] {
        the_engine->stop();
        std::unique_ptr<Engine>(std::exchange(the_engine, nullptr)).reset();
    });
    return {};
}

Status status() { return the_engine ? the_engine->status() : Status{}; }

base::Result<void> drain(Deadline deadline) {
    if (!the_engine) return {};
    return the_engine->drain(deadline);
}

void set_fault(std::unique_ptr<Fault> fault) { engine().set_fault(std::move(fault)); }

}  // namespace runtime::disk
