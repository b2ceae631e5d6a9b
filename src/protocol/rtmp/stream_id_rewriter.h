#pragma once
// Replaces the message stream id in chunks that were encoded once for all players: the live log has one id, whichever
// id a player uses. It expects messages as the chunk writer produces them: each begins with a type 0 header on a chunk
// stream below 64.

#include <cstdint>
#include <span>

namespace rtmp {

class StreamIdRewriter {
  public:
    // chunk_size: of the messages.
    StreamIdRewriter(uint32_t stream_id, uint32_t chunk_size) : stream_id_(stream_id), chunk_size_(chunk_size) {}

    // Rewrites the bytes in place, continuing after those of the calls before. The first call begins with the start of
    // a message. Bytes that already have the id may be passed too.
    void rewrite(std::span<uint8_t> bytes);
    // Whether the next byte begins a message.
    bool between_messages() const { return header_bytes_ == 0 && rest_ == 0; }

  private:
    static constexpr uint32_t kHeader = 1 + 11;
    void take_header_byte(uint8_t& byte);

    uint32_t stream_id_;
    uint32_t chunk_size_;
    uint32_t header_bytes_ = 0;  // of the current header
    uint32_t csid_ = 0;
    uint32_t timestamp_ = 0;
    uint32_t length_ = 0;
    uint64_t rest_ = 0;  // remaining bytes of the message after its header
};

}  // namespace rtmp
