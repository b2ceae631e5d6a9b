#include "protocol/rtmp/messages.h"

#include "base/bytes.h"
#include "protocol/amf/amf0.h"
#include "protocol/rtmp/chunk_writer.h"

namespace rtmp {

using base::Code;
using base::fail;
using base::Result;

namespace {

// No legitimate command needs more; the limits bound the cost of malicious ones.
constexpr amf::Limits kCommandLimits{.depth = 16, .values = 1024, .text = 64 * 1024};
constexpr size_t kMaxCommand = 128 * 1024;  // bytes

void append_control(std::vector<uint8_t>& out, MessageType type, std::span<const uint8_t> body) {
    append_message(out, kControlChunkStream, type, 0, 0, body, kMinChunkSize);
}

void append_control(std::vector<uint8_t>& out, MessageType type, uint32_t value) {
    uint8_t body[4];
    base::put_u32(body, value);
    append_control(out, type, body);
}

}  // namespace

void append_set_chunk_size(std::vector<uint8_t>& out, uint32_t size) { append_control(out, kSetChunkSize, size); }
void append_acknowledgement(std::vector<uint8_t>& out, uint32_t sequence) {
    append_control(out, kAcknowledgement, sequence);
}
void append_window_ack_size(std::vector<uint8_t>& out, uint32_t bytes) { append_control(out, kWindowAckSize, bytes); }

void append_set_peer_bandwidth(std::vector<uint8_t>& out, uint32_t bytes, LimitType type) {
    uint8_t body[5];
    *base::put_u32(body, bytes) = static_cast<uint8_t>(type);
    append_control(out, kSetPeerBandwidth, body);
}

void append_user_control(std::vector<uint8_t>& out, const UserControl& event) {
    uint8_t body[10];
    uint8_t* end = base::put_u32(base::put_u16(body, event.event), event.value);
    if (event.event == kSetBufferLength) end = base::put_u32(end, event.extra);
    append_control(out, kUserControl, std::span(body, end));
}

Result<UserControl> read_user_control(const Message& message) {
    base::ByteReader reader(message.payload);
    UserControl event;
    event.event = reader.u16();
    // Some peers send pings without a value, and Flash sends undocumented events of one byte.
    if (reader.ok() && reader.left() >= 4) event.value = reader.u32();
    if (event.event == kSetBufferLength && reader.left() >= 4) event.extra = reader.u32();
    if (!reader.ok())
        return fail(Code::kProtocol, fmt::format("user control message of {} bytes", message.payload.size()));
    return event;
}

Result<uint32_t> read_control_value(const Message& message) {
    base::ByteReader reader(message.payload);
    uint32_t value = reader.u32();
    if (!reader.ok())
        return fail(Code::kProtocol,
                    fmt::format("control message {} of {} bytes, 4 are needed", message.type, message.payload.size()));
    return value;
}

const amf::Value& Command::argument(size_t index) const {
    static const amf::Value null;
    return index < arguments.size() ? arguments[index] : null;
}

bool says_multitrack(const amf::Value& object) {
    return (object.get("capsEx").int_or(0, 0, INT32_MAX) & static_cast<int>(kCapsMultitrack)) != 0;
}

Result<Command> read_command(const Message& message) {
    base::Slice body = message.payload;
    if (body.size() > kMaxCommand) return fail(Code::kLimit, fmt::format("a command of {} bytes", body.size()));
    if (message.type == kCommandAmf3 && !body.empty() && body[0] == 0) body = body.sub(1);
    base::ByteReader reader(body);
    auto values = TRY(amf::decode_amf0_all(reader, kCommandLimits), "command");
    if (values.empty() || !values[0].is_string()) return fail(Code::kProtocol, "a command without a name");
    if (values.size() > 1 && !values[1].is_number())
        return fail(Code::kProtocol, "a command whose transaction id is no number");
    Command command{std::string(values[0].string_or("")), values.size() > 1 ? values[1].number_or(0) : 0};
    for (size_t i = 2; i < values.size(); ++i) command.arguments.push_back(std::move(values[i]));
    return command;
}

void append_command(std::vector<uint8_t>& out, uint32_t csid, uint32_t stream_id, const Command& command,
                    uint32_t chunk_size) {
    std::vector<uint8_t> body;
    base::ByteWriter writer(body);
    amf::encode_amf0(command.name, writer);
    amf::encode_amf0(command.transaction_id, writer);
    for (const amf::Value& value : command.arguments) amf::encode_amf0(value, writer);
    append_message(out, csid, kCommand, stream_id, 0, body, chunk_size);
}

void append_data(std::vector<uint8_t>& out, uint32_t stream_id, uint32_t timestamp,
                 const std::vector<amf::Value>& values, uint32_t chunk_size) {
    std::vector<uint8_t> body;
    base::ByteWriter writer(body);
    for (const amf::Value& value : values) amf::encode_amf0(value, writer);
    append_message(out, kDataChunkStream, kData, stream_id, timestamp, body, chunk_size);
}

Result<Message> AggregateReader::next() {
    const bool first = position_ == 0;
    base::ByteReader reader(whole_.payload.bytes().subspan(position_));
    uint8_t type = reader.u8();
    uint32_t size = reader.u24();
    uint32_t timestamp = reader.u24();
    timestamp |= static_cast<uint32_t>(reader.u8()) << 24;
    reader.skip(3);  // the stream id: that of the aggregate is used
    size_t at = static_cast<size_t>(reader.position() - whole_.payload.data());
    reader.skip(size);
    if (!reader.ok())
        return fail(Code::kProtocol, fmt::format("an aggregate of {} bytes ends within a message of {} bytes",
                                                 whole_.payload.size(), size));
    if (reader.left() > 0) reader.skip(std::min<size_t>(4, reader.left()));  // the back pointer
    position_ = whole_.payload.size() - reader.left();
    if (type == kAggregate) return fail(Code::kProtocol, "an aggregate within an aggregate");
    if (first) shift_ = whole_.timestamp - timestamp;
    return Message{type, whole_.csid, whole_.stream_id, timestamp + shift_, whole_.payload.sub(at, size)};
}

}  // namespace rtmp
