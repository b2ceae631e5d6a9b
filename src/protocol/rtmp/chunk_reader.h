#pragma once
// Assembles chunks into messages (Adobe RTMP 1.0, 5.3). It parses the caller's buffer in place and copies the payload
// once, into memory of the message or, for small audio and video messages, of a block shared by several messages of the
// connection. Of the input it keeps only an unfinished chunk header. It handles Set Chunk Size and Abort itself and
// does not interpret other messages, but commands and control messages are small: a larger one is an error as soon as
// its header says so.
//
// Deviations of peers from the specification: an extended timestamp may or may not be repeated in type 3 chunks (both
// are accepted, by comparison with the known timestamp), and a chunk stream may begin with a type 1 header (librtmp
// does that).

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
    // False: stop reading for now; the remaining bytes stay with the caller. An error ends the reading for good.
    virtual base::Result<bool> on_message(Message& message) = 0;

  protected:
    ~MessageSink() = default;
};

class ChunkReader {
  public:
    static constexpr size_t kMaxChunkStreams = 64;
    static constexpr size_t kFirstPayload = 64 * 1024;   // bytes reserved for a message before more of it arrives
    static constexpr size_t kMaxInProgress = 20u << 20;  // bytes of all unfinished messages together
    static constexpr size_t kMaxCommand = 64 * 1024;     // bytes of a message other than audio, video and data
    // The limit of all unfinished messages while audio, video and data are held to kMaxCommand too.
    static constexpr size_t kMaxCommandsInProgress = 2 * kMaxCommand;

    // Returns how many bytes were consumed: all, unless the sink stopped the reading. An error is final; its text gives
    // the reason.
    base::Result<size_t> feed(std::span<const uint8_t> bytes, MessageSink& sink);

    // Audio, video and data messages are held to kMaxCommand from now on, or are not: for a peer that may not publish.
    void set_takes_media(bool takes) { takes_media_ = takes; }

    // Releases spare capacity and the shared block. Call it when no more chunk streams or frames are expected.
    void shrink() {
        base::shrink(streams_);
        frames_.reset();
    }

    uint32_t chunk_size() const { return chunk_size_; }
    // Memory held by unfinished messages, in bytes.
    size_t in_progress() const { return in_progress_; }
    // Appends a number for each unfinished message, which no later message of its chunk stream has soon.
    void list_unfinished(std::vector<uint64_t>& messages) const;

  private:
    struct ChunkStream {
        uint32_t csid = 0;
        uint32_t timestamp = 0;  // of the message in progress, or the last one
        uint32_t field = 0;      // the last timestamp or delta on the wire, extended or not
        uint32_t length = 0;
        uint32_t stream_id = 0;
        uint8_t type = 0;
        bool extended = false;                          // field was sent as an extended timestamp
        bool busy = false;                              // a message is in progress
        uint8_t serial = 0;                             // of the messages that came in parts
        std::unique_ptr<base::SliceBuilder> payload{};  // of the message in progress, or reserved for the next frame
    };
    static constexpr size_t kMaxHeader = 3 + 11 + 4;
    enum class Repeats : uint8_t { kUnknown, kYes, kNo };

    base::Result<size_t> header(std::span<const uint8_t> bytes);
    base::Result<size_t> carried_header(std::span<const uint8_t> bytes, MessageSink& sink);
    base::Result<size_t> payload(std::span<const uint8_t> bytes, MessageSink& sink);
    static std::unexpected<base::Error> too_long(const ChunkStream& stream);
    ChunkStream* find(uint32_t csid);
    base::Result<ChunkStream*> make(uint32_t csid, int format);
    bool repeated_timestamp(const ChunkStream& stream, std::span<const uint8_t> bytes, bool& need_more);
    base::Result<void> begin_message(ChunkStream& stream);
    base::Result<void> reserve(ChunkStream& stream, size_t bytes);
    base::Result<void> end_message(ChunkStream& stream, MessageSink& sink);
    base::Result<void> whole_message(const ChunkStream& stream, std::span<const uint8_t> bytes, MessageSink& sink);
    base::Result<void> hand_on(Message& message, MessageSink& sink);
    base::Result<void> control(const Message& message);

    std::vector<ChunkStream> streams_;
    base::SliceBlock frames_;
    uint32_t chunk_left_ = 0;  // remaining payload bytes of the current chunk
    uint32_t chunk_size_ = kDefaultChunkSize;
    uint32_t in_progress_ = 0;
    std::array<uint8_t, kMaxHeader - 1> carry_{};  // an unfinished chunk header
    uint8_t carried_ = 0;
    uint8_t current_ = 0;  // index in streams_ of the current chunk
    Repeats repeats_ : 2 = Repeats::kUnknown;
    bool in_chunk_ : 1 = false;
    bool stopped_ : 1 = false;  // by the sink, during this feed()
    bool takes_media_ : 1 = true;
};

}  // namespace rtmp
