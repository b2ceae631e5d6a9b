#pragma once
// Messages between two processes of this machine that one of them has started: bytes, and descriptors with them (a
// SOCK_SEQPACKET pair of Unix sockets, SCM_RIGHTS). Nobody else can reach the pair. Each message is received as a
// whole; one that is longer than kMaxMessageBytes, or has more descriptors than kMaxDescriptors, is an error.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/loop/deadline.h"
#include "runtime/loop/reactor.h"
#include "runtime/socket/byte_stream.h"

namespace runtime {

// Closes them.
class OwnedDescriptors {
  public:
    OwnedDescriptors() = default;
    explicit OwnedDescriptors(std::vector<int> all) : all_(std::move(all)) {}
    OwnedDescriptors(OwnedDescriptors&& other) noexcept : all_(std::exchange(other.all_, {})) {}
    OwnedDescriptors& operator=(OwnedDescriptors&& other) noexcept {
        std::swap(all_, other.all_);
        return *this;
    }
    ~OwnedDescriptors();

    size_t size() const { return all_.size(); }
    const std::vector<int>& all() const { return all_; }
    // They are the caller's from now on.
    std::vector<int> release() { return std::exchange(all_, {}); }
    std::optional<int> release_one();

  private:
    std::vector<int> all_;
};

struct ProcessMessage {
    std::string text{};  // not empty
    OwnedDescriptors descriptors{};
};

inline constexpr size_t kMaxMessageBytes = 64 * 1024, kMaxDescriptors = 64;

// Closed on exec, non-blocking. The second one is for the other process.
base::Result<std::pair<OwnedDescriptors, OwnedDescriptors>> process_channel_pair();

// Before the loop runs: they block, at most so long. kTimeout; kClosed: the other end is closed.
base::Result<void> send_message_blocking(int channel, const ProcessMessage& message, int timeout_ms);
base::Result<ProcessMessage> receive_message_blocking(int channel, int timeout_ms);

// On the loop. One coroutine may send and one may receive.
class ProcessChannel {
  public:
    // Takes the descriptor.
    base::Result<void> open(int channel) { return watch_.open(channel); }
    int fd() const { return watch_.fd(); }
    void close() { watch_.close(); }
    // Nothing is sent or received any more, here and there: who waits gets kClosed. Does not yield.
    void shut_down();
    // Yields while the other process does not receive. Its descriptors are closed here.
    base::Result<void> send(ProcessMessage message, Deadline deadline);
    // Yields.
    base::Result<ProcessMessage> receive(Deadline deadline);

  private:
    detail::Watch watch_;
};

// A stream between two processes: this one's end, and the descriptor of the other's. Its peer is 127.0.0.1.
base::Result<std::pair<std::unique_ptr<ByteStream>, OwnedDescriptors>> local_stream_pair();
// The end of another process. Takes the descriptor. kOther: it is no connected Unix stream.
base::Result<std::unique_ptr<ByteStream>> local_stream(int fd);

}  // namespace runtime
