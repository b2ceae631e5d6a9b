// A measuring stick: what writing costs, through runtime/disk/disk.h and by plain write() of the same pieces. Processor
// time of the process (the kernel's threads for it included) and of the loop's own thread.
//
//   disk DIRECTORY HOW CHUNK FILES MEGABYTES       as fast as it goes; seconds of processor time per GB
//   disk DIRECTORY HOW CHUNK FILES -SECONDS TICK   each file gets CHUNK bytes every TICK ms; us per file and second
//
// HOW: disk (by disk.h), write (a plain write() of each chunk, on the loop).

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/disk/disk.h"
#include "runtime/loop/coroutine.h"

namespace {

namespace disk = runtime::disk;

struct Target {
    std::unique_ptr<disk::AppendFile> file;
    int fd = -1;
    void append(const std::vector<uint8_t>& bytes) {
        if (file) {
            auto appended = file->append(bytes);
            if (!appended) std::fprintf(stderr, "%s\n", appended.error().text().c_str()), std::exit(1);
        } else if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
            std::perror("write"), std::exit(1);
        }
    }
};

double cpu_seconds(int who) {
    rusage usage;
    getrusage(who, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int64_t longest_us = 0;
void append_all(std::vector<Target>& targets, const std::vector<uint8_t>& bytes) {
    for (auto& target : targets) {
        const int64_t before = base::monotonic_us();
        target.append(bytes);
        longest_us = std::max(longest_us, base::monotonic_us() - before);
    }
}

void as_fast_as_it_goes(std::vector<Target>& targets, const std::vector<uint8_t>& bytes, double total) {
    double sent = 0;
    while (sent < total) {
        append_all(targets, bytes);
        sent += static_cast<double>(bytes.size() * targets.size());
        while (disk::status().bytes_in_flight > 3'000'000) static_cast<void>(runtime::sleep_ms(1));
    }
}

void paced(std::vector<Target>& targets, const std::vector<uint8_t>& bytes, int64_t seconds, int64_t tick_ms) {
    const int64_t began = base::monotonic_ms();
    for (int64_t at = began; at < began + seconds * 1000; at += tick_ms) {
        static_cast<void>(runtime::sleep_ms(std::max<int64_t>(0, at - base::monotonic_ms())));
        append_all(targets, bytes);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) return std::fprintf(stderr, "usage: see the source\n"), 2;
    const std::string directory = argv[1], how = argv[2];
    const std::vector<uint8_t> bytes(static_cast<size_t>(std::atol(argv[3])), 'x');
    const int files = std::atoi(argv[4]);
    const double amount = std::atof(argv[5]);
    const int64_t tick_ms = argc > 6 ? std::atol(argv[6]) : 40;
    CHECK(runtime::init().has_value());
    std::vector<Target> targets(static_cast<size_t>(files));
    for (int i = 0; i < files; ++i) {
        const std::string path = directory + "/" + std::to_string(i);
        auto& target = targets[static_cast<size_t>(i)];
        if (how == "write")
            target.fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        else
            target.file = disk::AppendFile::create(path);
    }
    static_cast<void>(runtime::sleep_ms(300));
    const double process = cpu_seconds(RUSAGE_SELF), loop = cpu_seconds(RUSAGE_THREAD);
    const int64_t began = base::monotonic_us();
    if (amount > 0)
        as_fast_as_it_goes(targets, bytes, amount * 1e6);
    else
        paced(targets, bytes, static_cast<int64_t>(-amount), tick_ms);
    const double before_end = static_cast<double>(base::monotonic_us() - began) / 1e6;
    const disk::Status status = disk::status();
    const double process_used = cpu_seconds(RUSAGE_SELF) - process, loop_used = cpu_seconds(RUSAGE_THREAD) - loop;
    for (auto& target : targets) {
        if (target.file) target.file->finish({}, nullptr);
        if (target.fd >= 0) close(target.fd);
    }
    targets.clear();
    if (how != "write") CHECK(disk::drain(runtime::Deadline::in_ms(60'000)).has_value());
    const double scale = amount > 0 ? 1000 / amount : 1e6 / (files * -amount);
    const char* unit = amount > 0 ? "s/GB" : "us per file and second";
    std::printf(
        "%-12s chunk %6zu: %8.3f %s, loop %8.3f; %.1f s, %llu writes, buffers %.1f kB a file, longest append "
        "%.2f ms\n",
        how.c_str(), bytes.size(), process_used * scale, unit, loop_used * scale, before_end,
        static_cast<unsigned long long>(status.writes), static_cast<double>(status.bytes_buffered) / 1024 / files,
        static_cast<double>(longest_us) / 1000);
    runtime::shutdown();
    return 0;
}
