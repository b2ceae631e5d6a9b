// The rows of file output: runtime/disk/disk.h.

#include "config/row_builder.h"

namespace config {

void add_disk_rows(std::vector<Row>& rows) {
    const Scope scope{"disk", [](const auto& root) -> decltype(auto) { return (root.snapshot->disk); }};
    rows.push_back(row(scope, "buffer", &Disk::buffer, 256 * 1024, bytes(16 * 1024, 1024 * 1024), kLive,
                       "Maximum size of a file's buffer, a power of two; a stream of low bitrate has smaller "
                       "ones."));
    rows.push_back(row(scope, "flush", &Disk::flush, 1000, milliseconds(100, 3000), kLive,
                       "Maximum time until recorded data is written to the system. Data of this time is lost if "
                       "the process is killed."));
    rows.push_back(row(scope, "file_limit", &Disk::file_limit, 32 * 1024 * 1024, bytes(1024 * 1024, 1024 * 1024 * 1024),
                       kLive,
                       "Maximum amount of data that one file holds in memory while the disk is slow. Beyond it "
                       "the recording or segment ends with an error."));
    rows.push_back(row(scope, "total_limit", &Disk::total_limit, 256 * 1024 * 1024, bytes(1024 * 1024, 2147483647),
                       kLive, "Maximum amount of data that all files together hold in memory."));
}

}  // namespace config
