#pragma once
// StreamState: what one process of the server leaves of a stream's HLS and DASH to the process that replaces it, as
// bytes: its segments, where their bytes are, and where it goes on. The bytes of segments that are in memory alone
// follow all states (state_file.h).
//
// Both processes may be of different versions of the program: a state of another kFormat is not read, and its streams
// begin as those of an earlier run. What is read is checked like any input: numbers are in ranges in which sums do not
// overflow, indexes and ranges within what they refer to, paths below their directory, texts without control
// characters. Pure.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stream_key.h"
#include "service/hls/segments/left_stream.h"

namespace service::hls {

struct StreamState {
    static constexpr uint32_t kFormat = 1;  // raised with each change of what is written
    static constexpr size_t kMaxBytes = 64 * 1024 * 1024;
    static constexpr size_t kMaxSegments = 200'000, kMaxParts = 10'000, kMaxBlobs = 20'000;
    static constexpr uint64_t kMaxBlobBytes = uint64_t{16} << 30;

    base::StreamKey key{};
    std::string made_with{};  // the configuration as far as it has to be the same
    uint64_t next_sequence = 0;
    LeftStream left{};                   // without blobs
    std::vector<uint64_t> blob_sizes{};  // of LeftStream::blobs, bytes
};

// Behind what is there. The state stays as it is.
void write_state(StreamState& state, std::vector<uint8_t>& out);
// kProtocol: it is none, or of another format.
base::Result<StreamState> read_state(std::span<const uint8_t> bytes);

}  // namespace service::hls
