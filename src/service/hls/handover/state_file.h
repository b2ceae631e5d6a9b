#pragma once
// The anonymous file in which one process of the server leaves its HLS to the next (runtime/loop/handover_state.h): a
// head, the states of all streams (stream_state.h), and behind them the bytes of their blobs, in the same order:
//
//     "SRSHLS\n\0", u64 bytes of the states, and for each stream u32 bytes, u64 bytes of its blobs, state
//
// Who reads it maps nothing: the other process may be broken, and cut the file.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/disk/paged_bytes.h"
#include "runtime/socket/process_channel.h"
#include "service/hls/handover/stream_state.h"

namespace service::hls {

// Yields: a worker copies. The states have blobs.
base::Result<runtime::OwnedDescriptors> write_state_file(std::vector<StreamState> states);
// Yields. The states have their blobs. A state that cannot be read is left out, with a line of `problems`.
base::Result<std::vector<StreamState>> read_state_file(int fd, std::vector<std::string>& problems);

}  // namespace service::hls
