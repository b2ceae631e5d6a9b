#include "load/rtmp_dialog.h"

#include "base/bytes.h"
#include "protocol/amf/amf0.h"
#include "protocol/rtmp/chunk_writer.h"
#include "protocol/rtmp/message.h"

namespace load {

namespace {
constexpr double kConnectTransaction = 1;
constexpr double kCreateStreamTransaction = 2;
constexpr uint32_t kBufferMs = 1000;
enum UserControl : uint16_t { kSetBufferLength = 3, kPingRequest = 6, kPingResponse = 7 };
}  // namespace

void RtmpDialog::start(std::vector<uint8_t>& out) { handshake_->start(0, out); }

base::Result<void> RtmpDialog::feed(std::span<const uint8_t> bytes, MediaSink& sink, std::vector<uint8_t>& out) {
    sink_ = &sink;
    out_ = &out;
    if (handshake_) {
        bytes = bytes.subspan(TRY(handshake_->feed(bytes, 0, out), "handshake"));
        if (!handshake_->done()) return {};
        handshake_.reset();
        connect();
    }
    received_ += bytes.size();
    TRY(skimmer_.feed(bytes, *this));
    acknowledge();
    return {};
}

void RtmpDialog::acknowledge() {
    if (ack_window_ == 0 || received_ - acknowledged_ < ack_window_) return;
    acknowledged_ = received_;
    send_control(rtmp::kAcknowledgement, {static_cast<uint32_t>(received_)});
}

base::Result<void> RtmpDialog::on_control(uint8_t type, uint32_t timestamp, std::span<const uint8_t> body) {
    switch (type) {
        case rtmp::kWindowAckSize:
            ack_window_ = base::ByteReader(body).u32();
            return {};
        case rtmp::kUserControl:
            on_user_control(body);
            return {};
        case rtmp::kCommand:
            return on_command(body);
        case rtmp::kCommandAmf3:
            return on_command(body.empty() ? body : body.subspan(1));
        case rtmp::kData:
            sink_->on_media({type, timestamp, static_cast<uint32_t>(body.size()), {}});
            return {};
        default:
            return {};
    }
}

void RtmpDialog::on_user_control(std::span<const uint8_t> body) {
    base::ByteReader r(body);
    if (r.u16() == kPingRequest) send_control(rtmp::kUserControl, {r.u32()}, kPingResponse);
}

base::Result<void> RtmpDialog::on_command(std::span<const uint8_t> body) {
    base::ByteReader r(body);
    auto values = TRY(amf::decode_amf0_all(r), "a command of the server");
    if (values.size() < 2) return {};
    std::string_view name = values[0].string_or("");
    if (name == "_result") return on_result(values[1].number_or(0), values);
    if (name == "_error") {
        std::string_view why = values.size() > 3 ? values[3].get("description").string_or("no reason given") : "";
        return base::fail(base::Code::kRefused, fmt::format("_error: {}", why));
    }
    if (name == "onStatus" && values.size() > 3) return on_status(values[3]);
    return {};
}

base::Result<void> RtmpDialog::on_result(double transaction, const std::vector<amf::Value>& values) {
    if (transaction == kConnectTransaction) create_stream();
    if (transaction == kCreateStreamTransaction) {
        stream_id_ = static_cast<uint32_t>(values.size() > 3 ? values[3].int_or(1, 0) : 1);
        play_or_publish();
    }
    return {};
}

base::Result<void> RtmpDialog::on_status(const amf::Value& info) {
    std::string_view code = info.get("code").string_or("");
    if (info.get("level").string_or("") == "error") {
        return base::fail(base::Code::kRefused, fmt::format("{}: {}", code, info.get("description").string_or("")));
    }
    if (code == (role_ == Role::kPlay ? "NetStream.Play.Start" : "NetStream.Publish.Start")) ready_ = true;
    if (code == "NetStream.Play.UnpublishNotify" || code == "NetStream.Play.Stop") {
        return base::fail(base::Code::kClosed, std::string(code));
    }
    return {};
}

void RtmpDialog::connect() {
    auto info = amf::Value::object({{"app", url_.app},
                                    {"flashVer", "FMLE/3.0 (compatible; bench)"},
                                    {"tcUrl", url_.tc_url()},
                                    {"fpad", false},
                                    {"capabilities", 15},
                                    {"audioCodecs", 4071},
                                    {"videoCodecs", 252},
                                    {"videoFunction", 1}});
    if (role_ == Role::kPublish) send_control(rtmp::kSetChunkSize, {kPublishChunkSize});
    send_command(0, {"connect", kConnectTransaction, std::move(info)});
}

void RtmpDialog::create_stream() {
    if (role_ == Role::kPublish) {
        send_command(0, {"releaseStream", 3, amf::Value(), url_.stream});
        send_command(0, {"FCPublish", 4, amf::Value(), url_.stream});
    }
    send_command(0, {"createStream", kCreateStreamTransaction, amf::Value()});
}

void RtmpDialog::play_or_publish() {
    if (role_ == Role::kPublish) {
        send_command(stream_id_, {"publish", 5, amf::Value(), url_.stream, "live"});
        return;
    }
    send_command(stream_id_, {"play", 5, amf::Value(), url_.stream, -2000});
    send_control(rtmp::kUserControl, {stream_id_, kBufferMs}, kSetBufferLength);
}

void RtmpDialog::send_command(uint32_t stream_id, std::initializer_list<amf::Value> values) {
    std::vector<uint8_t> body;
    base::ByteWriter writer(body);
    for (const auto& value : values) amf::encode_amf0(value, writer);
    uint32_t chunk_size = role_ == Role::kPublish ? kPublishChunkSize : rtmp::kDefaultChunkSize;
    rtmp::append_message(*out_, rtmp::kCommandChunkStream, rtmp::kCommand, stream_id, 0, body, chunk_size);
}

void RtmpDialog::send_control(uint8_t type, std::initializer_list<uint32_t> words, std::optional<uint16_t> event) {
    std::vector<uint8_t> body;
    base::ByteWriter writer(body);
    if (event) writer.u16(*event);
    for (uint32_t word : words) writer.u32(word);
    rtmp::append_message(*out_, rtmp::kControlChunkStream, type, 0, 0, body, rtmp::kDefaultChunkSize);
}

}  // namespace load
