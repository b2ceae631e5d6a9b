#pragma once
// The bodies of RTMP messages: protocol control (Adobe RTMP 1.0, 5.4), user control (6.2, 7.1.7), commands in AMF0 and
// AMF3 (7.1.1, 7.2), and aggregates (7.1.6). Encoders append whole messages, split into chunks, to a buffer of the
// caller. Received Set Chunk Size and Abort messages are handled by the chunk reader.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/amf/value.h"
#include "protocol/rtmp/message.h"

namespace rtmp {

// Of the list of servers that a stream or a request passed ("forwardPath"), bytes; a longer one is truncated.
inline constexpr size_t kMaxForwardPath = 1024;

// ---- Control

void append_set_chunk_size(std::vector<uint8_t>& out, uint32_t size);
void append_acknowledgement(std::vector<uint8_t>& out, uint32_t sequence);
void append_window_ack_size(std::vector<uint8_t>& out, uint32_t bytes);
enum class LimitType : uint8_t { kHard, kSoft, kDynamic };
void append_set_peer_bandwidth(std::vector<uint8_t>& out, uint32_t bytes, LimitType type);

enum UserEvent : uint16_t {
    kStreamBegin = 0,
    kStreamEof = 1,
    kStreamDry = 2,
    kSetBufferLength = 3,  // value: stream id, extra: ms
    kStreamIsRecorded = 4,
    kPingRequest = 6,   // value: the sender's time, ms
    kPingResponse = 7,  // the same value as in the request
    kBufferEmpty = 31,
    kBufferReady = 32,
};
struct UserControl {
    uint16_t event = 0;
    uint32_t value = 0;  // the stream id, except for pings
    uint32_t extra = 0;  // SetBufferLength only
};
void append_user_control(std::vector<uint8_t>& out, const UserControl& event);

base::Result<UserControl> read_user_control(const Message& message);
// Acknowledgement, WindowAckSize, SetPeerBandwidth: the 32-bit value at the beginning of each.
base::Result<uint32_t> read_control_value(const Message& message);

// ---- Commands

// A call, its answer (_result, _error) or a notification (onStatus).
struct Command {
    std::string name;
    double transaction_id = 0;            // 0: no answer is expected
    std::vector<amf::Value> arguments{};  // the command object, which may be null, and what follows it

    // Null when there are fewer arguments.
    const amf::Value& argument(size_t index) const;
};

// Enhanced RTMP's capabilities, the bits of "capsEx" in connect and its answer: streams with several tracks of a kind.
inline constexpr double kCapsMultitrack = 2;
bool says_multitrack(const amf::Value& object);

// Reads a message of type kCommand or kCommandAmf3 (whose values are AMF0 and switch to AMF3 where needed). Strict
// about the structure of a command, lenient about missing values at its end.
base::Result<Command> read_command(const Message& message);

// Encodes in AMF0. chunk_size: the one announced to the receiver.
void append_command(std::vector<uint8_t>& out, uint32_t csid, uint32_t stream_id, const Command& command,
                    uint32_t chunk_size);
// A data message (onStatus and |RtmpSampleAccess to players, @setDataFrame to servers).
void append_data(std::vector<uint8_t>& out, uint32_t stream_id, uint32_t timestamp,
                 const std::vector<amf::Value>& values, uint32_t chunk_size);

// ---- Aggregates

// Reads the messages of an aggregate in order, with absolute timestamps; payloads share its memory. One message per
// call, because an aggregate may contain a million of them.
class AggregateReader {
  public:
    explicit AggregateReader(Message aggregate) : whole_(std::move(aggregate)) {}
    bool at_end() const { return position_ >= whole_.payload.size(); }
    uint32_t stream_id() const { return whole_.stream_id; }
    // The next message; call it only when not at_end(). An error concerns the whole aggregate and is final.
    base::Result<Message> next();

  private:
    Message whole_;
    size_t position_ = 0;
    uint32_t shift_ = 0;
};

}  // namespace rtmp
