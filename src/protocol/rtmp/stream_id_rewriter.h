#pragma once
// Puts another message stream id into chunks that were encoded for everybody: a live log has one id, whatever its
// players asked for. It follows messages as the chunk writer makes them: each begins with a type 0 header on a chunk
// stream below 64.

#include <cstdint>
#include <span>

namespace rtmp {

class StreamIdRewriter {
  public:
    // chunk_size: of the messages.
    StreamIdRewriter(uint32_t stream_id, uint32_t chunk_size) : stream_id_(stream_id), chunk_size_(chunk_size) {}

    // Rewrites in place what follows the bytes of the calls before. The first ones are a message's beginning. Bytes
    // that have the id already may be given too.
    void rewrite(std::span<uint8_t> bytes);
    // The next byte is a message's first.
    bool between_messages() const { return header_bytes_ == 0 && rest_ == 0; }

  private:
    static constexpr uint32_t kHeader = 1 + 11;
    void take_header_byte(uint8_t& byte);

    uint32_t stream_id_;
    uint32_t chunk_size_;
    uint32_t header_bytes_ = 0;  // of the header under way
    uint32_t csid_ = 0;
    uint32_t timestamp_ = 0;
    uint32_t length_ = 0;
    uint64_t rest_ = 0;  // bytes of the message behind its header
};

}  // namespace rtmp
