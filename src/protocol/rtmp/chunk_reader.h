#pragma once
// Chunks to messages (Adobe RTMP 1.0, 5.3): parses in place out of the buffer that is handed in, copies payload once,
// into memory of the message's own or, of small audio and video, of a block that it shares with others of its
// connection, and keeps of the input only an unfinished chunk header. Acts on Set Chunk Size and Abort itself. Does not
// know what is in the other messages.
//
// Where peers differ from the page: an extended timestamp may or may not be repeated in type 3 chunks (both are
// taken, by comparing with the one that is known), and a chunk stream may begin with a type 1 header (librtmp's does).

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/shrink.h"
#include "base/slice.h"
#include "protocol/rtmp/message.h"

namespace rtmp {

class MessageSink {
  public:
    // False: stop here for now, what follows stays with the caller. An error ends the reading for good.
    virtual base::Result<bool> on_message(Message& message) = 0;

  protected:
    ~MessageSink() = default;
};

class ChunkReader {
  public:
    static constexpr size_t kMaxChunkStreams = 64;
    static constexpr size_t kFirstPayload = 64 * 1024;   // bytes set aside for a message before more of it has come
    static constexpr size_t kMaxInProgress = 20u << 20;  // bytes of all unfinished messages together

    // Returns how many bytes were taken: all, unless the sink said stop. An error is final; it says what was wrong.
    base::Result<size_t> feed(std::span<const uint8_t> bytes, MessageSink& sink);

    // Gives back memory that was set aside for more chunk streams: its peer has said most of what it will.
    void shrink() {
        base::shrink(streams_);
        frames_.reset();
    }

    uint32_t chunk_size() const { return chunk_size_; }
    size_t chunk_streams() const { return streams_.size(); }
    // Memory held by unfinished messages, in bytes.
    size_t in_progress() const { return in_progress_; }

  private:
    struct ChunkStream {
        uint32_t csid = 0;
        uint32_t timestamp = 0;  // of the message under way, or the last one
        uint32_t field = 0;      // the last timestamp or delta on the wire, extended or not
        uint32_t length = 0;
        uint32_t stream_id = 0;
        uint8_t type = 0;
        bool extended = false;                          // field came in four bytes of its own
        bool busy = false;                              // a message has begun
        std::unique_ptr<base::SliceBuilder> payload{};  // of a message under way, or for the next frame
    };
    static constexpr size_t kMaxHeader = 3 + 11 + 4;
    enum class Repeats : uint8_t { kUnknown, kYes, kNo };

    base::Result<size_t> header(std::span<const uint8_t> bytes);
    base::Result<size_t> carried_header(std::span<const uint8_t> bytes, MessageSink& sink);
    base::Result<size_t> payload(std::span<const uint8_t> bytes, MessageSink& sink);
    ChunkStream* find(uint32_t csid);
    base::Result<ChunkStream*> make(uint32_t csid, int format);
    bool repeated_timestamp(const ChunkStream& stream, std::span<const uint8_t> bytes, bool& need_more);
    base::Result<void> begin_message(ChunkStream& stream);
    base::Result<void> reserve(ChunkStream& stream, size_t bytes);
    base::Result<void> end_message(ChunkStream& stream, MessageSink& sink);
    base::Result<void> control(const Message& message);

    std::vector<ChunkStream> streams_;
    base::SliceBlock frames_;
    uint32_t chunk_left_ = 0;  // bytes of the payload of the chunk under way still to come
    uint32_t chunk_size_ = kDefaultChunkSize;
    uint32_t in_progress_ = 0;
    std::array<uint8_t, kMaxHeader - 1> carry_{};  // an unfinished chunk header
    uint8_t carried_ = 0;
    uint8_t current_ = 0;  // index in streams_ of the chunk under way
    Repeats repeats_ : 2 = Repeats::kUnknown;
    bool in_chunk_ : 1 = false;
    bool stopped_ : 1 = false;  // by the sink, in the feed() under way
};

}  // namespace rtmp
