#pragma once
// ChunkSkimmer: follows RTMP's chunk stream (Adobe RTMP 1.0, 5.3) as a viewer receives it. Audio and video payload is
// passed over without being kept, which is what tells it from rtmp::ChunkReader; all other messages are collected and
// handed out whole. Set Chunk Size is acted on here. Independent of the server's own reader on purpose: a fault in one
// does not hide in the other.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "load/media_sink.h"

namespace load {

class ControlSink : public MediaSink {
  public:
    // A whole message that is neither audio nor video. An error ends the reading.
    virtual base::Result<void> on_control(uint8_t type, uint32_t timestamp, std::span<const uint8_t> body) = 0;

  protected:
    ~ControlSink() = default;
};

class ChunkSkimmer {
  public:
    static constexpr size_t kMaxChunkStreams = 16;
    static constexpr size_t kMaxCollected = 256 * 1024;  // bytes of a message that is not media

    // An error is final.
    base::Result<void> feed(std::span<const uint8_t> bytes, ControlSink& sink);
    uint32_t chunk_size() const { return chunk_size_; }

  private:
    struct ChunkStream {
        uint32_t csid = 0;
        uint32_t timestamp = 0;
        uint32_t field = 0;  // last timestamp or delta on the wire
        uint32_t size = 0;
        uint32_t seen = 0;  // bytes of the message under way
        uint8_t type = 0;
        bool extended = false;
        std::array<uint8_t, kHeadBytes> head{};
        std::vector<uint8_t> collected;

        bool skipped() const { return type == 8 || type == 9 || type == 22; }
    };
    static constexpr size_t kMaxHeader = 3 + 11 + 4;

    // Bytes of the header at the front of the input; 0: it is not all there.
    base::Result<size_t> header(std::span<const uint8_t> bytes);
    base::Result<ChunkStream*> find(uint32_t csid, bool may_make);
    base::Result<void> begin_message(ChunkStream& stream);
    base::Result<void> payload(std::span<const uint8_t>& bytes, ControlSink& sink);
    base::Result<void> end_message(ChunkStream& stream, ControlSink& sink);

    std::vector<ChunkStream> streams_;
    uint32_t current_ = 0;
    uint32_t chunk_left_ = 0;
    uint32_t chunk_size_ = 128;
    std::array<uint8_t, kMaxHeader> carry_{};
    uint8_t carried_ = 0;
    bool in_chunk_ = false;
};

}  // namespace load
