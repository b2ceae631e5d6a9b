// The rows of file output: runtime/disk/disk.h.

#include "config/row_builder.h"

namespace config {

void add_disk_rows(std::vector<Row>& rows) {
    const Scope scope{"disk", [](const auto& root) -> decltype(auto) { return (root.snapshot->disk); }};
    rows.push_back(row(scope, "backend", &Disk::backend, "auto", one_of({"auto", "uring", "threads"}), kRestart,
                       "Who writes: uring (io_uring), threads (two worker threads), or auto: io_uring where the system "
                       "allows it. The log says at the start which it is."));
    rows.push_back(row(scope, "buffer", &Disk::buffer, 256 * 1024, bytes(16 * 1024, 1024 * 1024), kLive,
                       "Largest buffer of a file, a power of two; a slow stream has smaller ones."));
    rows.push_back(
        row(scope, "flush", &Disk::flush, 1000, milliseconds(100, 3000), kLive,
            "What was recorded is handed to the system after so long at the latest: so much is lost when the "
            "process is killed."));
    rows.push_back(row(scope, "file_limit", &Disk::file_limit, 32 * 1024 * 1024, bytes(1024 * 1024, 1024 * 1024 * 1024),
                       kLive,
                       "Most bytes that one file holds in memory while the disk is slow; with more that recording or "
                       "segment ends with an error."));
    rows.push_back(row(scope, "total_limit", &Disk::total_limit, 256 * 1024 * 1024, bytes(1024 * 1024, 2147483647),
                       kLive, "Most bytes that all files hold together."));
    rows.push_back(row(scope, "direct", &Disk::direct, true, none(), kLive,
                       "With io_uring, recordings are written around the page cache (O_DIRECT) where the file system "
                       "can."));
}

}  // namespace config
