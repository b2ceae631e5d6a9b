#pragma once
// The bodies of RTMP messages: protocol control (Adobe RTMP 1.0, 5.4), user control (6.2, 7.1.7), commands in AMF0 and
// AMF3 (7.1.1, 7.2), and aggregates (7.1.6). Encoders append whole messages, cut into chunks, to what the caller owns.
// Set Chunk Size and Abort that come in are the chunk reader's business.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/amf/value.h"
#include "protocol/rtmp/message.h"

namespace rtmp {

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
    kPingResponse = 7,  // the same value back
    kBufferEmpty = 31,
    kBufferReady = 32,
};
struct UserControl {
    uint16_t event = 0;
    uint32_t value = 0;  // the stream id, but for pings
    uint32_t extra = 0;  // SetBufferLength only
};
void append_user_control(std::vector<uint8_t>& out, const UserControl& event);

base::Result<UserControl> read_user_control(const Message& message);
// Acknowledgement, WindowAckSize, SetPeerBandwidth: the 32-bit value that each begins with.
base::Result<uint32_t> read_control_value(const Message& message);

// ---- Commands

// A call, its answer (_result, _error) or a notice (onStatus).
struct Command {
    std::string name;
    double transaction_id = 0;            // 0: no answer is expected
    std::vector<amf::Value> arguments{};  // from the command object on, which may be null

    // Null where there are not so many.
    const amf::Value& argument(size_t index) const;
};

// Of type kCommand or kCommandAmf3 (whose values are AMF0, switching to AMF3 where they need it). Strict in what a
// command is, lenient in what is missing at its end.
base::Result<Command> read_command(const Message& message);

// In AMF0. chunk_size: the one that the receiver was told.
void append_command(std::vector<uint8_t>& out, uint32_t csid, uint32_t stream_id, const Command& command,
                    uint32_t chunk_size);
// A data message (onStatus and |RtmpSampleAccess to players, @setDataFrame to servers).
void append_data(std::vector<uint8_t>& out, uint32_t stream_id, uint32_t timestamp,
                 const std::vector<amf::Value>& values, uint32_t chunk_size);

// ---- Aggregates

// The messages within an aggregate, in order, with timestamps made absolute; payloads share its memory. A step at a
// time: there may be a million of them.
class AggregateReader {
  public:
    explicit AggregateReader(Message aggregate) : whole_(std::move(aggregate)) {}
    bool at_end() const { return position_ >= whole_.payload.size(); }
    uint32_t stream_id() const { return whole_.stream_id; }
    // Not at its end. An error is the aggregate's own, and final.
    base::Result<Message> next();

  private:
    Message whole_;
    size_t position_ = 0;
    uint32_t shift_ = 0;
};

}  // namespace rtmp
