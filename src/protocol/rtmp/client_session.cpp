#include "protocol/rtmp/client_session.h"

#include <algorithm>

#include "base/text.h"
#include "protocol/rtmp/chunk_writer.h"

namespace rtmp {

using base::Code;
using base::fail;
using base::for_log;
using base::Result;

namespace {

constexpr int64_t kRedirected = 302;

std::string words(const amf::Value& information) {
    return fmt::format("{} ({})", for_log(information.get("code").string_or("no code")),
                       for_log(information.get("description").string_or("no description")));
}

}  // namespace

ClientSession::ClientSession(ClientHandler& handler, Url url, const ClientOptions& options, uint32_t already_received)
    : handler_(&handler), url_(std::move(url)), options_(options), received_(already_received) {
    options_.chunk_size = std::clamp(options.chunk_size, kMinChunkSize, kMaxMessage);
}

void ClientSession::send(uint32_t csid, uint32_t stream_id, std::string name, std::vector<amf::Value> arguments) {
    append_command(output_, csid, stream_id,
                   {std::move(name), static_cast<double>(++transaction_), std::move(arguments)}, options_.chunk_size);
}

void ClientSession::start() {
    CHECK(state_ == State::kIdle);
    state_ = State::kConnecting;
    append_set_chunk_size(output_, options_.chunk_size);
    if (options_.out_ack_size) append_window_ack_size(output_, options_.out_ack_size);
    auto object =
        amf::Value::object({{"app", url_.app}, {"tcUrl", options_.tc_url.empty() ? url_.tc_url() : options_.tc_url}});
    if (options_.publish) {
        object.set("type", "nonprivate");
        object.set("flashVer", "FMLE/3.0 (compatible; FMSc/1.0)");
    } else {
        object.set("flashVer", "LNX 9,0,124,2");
        object.set("fpad", false);
        object.set("capabilities", 15);
        object.set("audioCodecs", 4071);
        object.set("videoCodecs", 252);
        object.set("videoFunction", 1);
    }
    if (!options_.page_url.empty()) object.set("pageUrl", options_.page_url);
    if (!options_.swf_url.empty()) object.set("swfUrl", options_.swf_url);
    if (!options_.forward_path.empty()) object.set("forwardPath", options_.forward_path);
    if (options_.connect_only) object.set("connectOnly", true);
    amf::Value codecs = amf::Value::strict_array();
    for (const char* name : {"av01", "vp09", "hvc1", "Opus"}) codecs.append_element(name);
    object.set("fourCcList", std::move(codecs));
    object.set("capsEx", kCapsMultitrack);
    std::vector<amf::Value> values;
    values.push_back(std::move(object));
    if (options_.arguments.is_object()) values.push_back(options_.arguments);
    send(kCommandChunkStream, 0, "connect", std::move(values));
    awaited_ = transaction_;
}

Result<void> ClientSession::feed(std::span<const uint8_t> bytes) {
    TRY(reader_.feed(bytes, *this));
    received_ += static_cast<uint32_t>(bytes.size());
    if (window_ && received_ - acknowledged_ >= window_) {
        acknowledged_ = received_;
        append_acknowledgement(output_, received_);
    }
    return {};
}

Result<bool> ClientSession::on_message(Message& message) {
    switch (message.type) {
        case kAudio:
        case kVideo:
        case kData:
        case kDataAmf3:
            TRY(handler_->on_media(message));
            break;
        case kAggregate:
            if (options_.publish) break;  // a publisher receives no media
            TRY(aggregate(std::move(message)));
            break;
        case kCommand:
        case kCommandAmf3:
            TRY(command(message));
            break;
        case kUserControl:
        case kWindowAckSize:
        case kSetPeerBandwidth:
            control(message);
            break;
        default:
            break;
    }
    return true;
}

Result<void> ClientSession::aggregate(Message&& message) {
    for (AggregateReader parts(std::move(message)); !parts.at_end();) {
        auto part = parts.next();
        if (!part) {
            handler_->on_dropped(part.error());
            break;
        }
        TRY(handler_->on_media(*part));
    }
    return {};
}

void ClientSession::control(const Message& message) {
    if (message.type == kUserControl) {
        const auto event = read_user_control(message);
        if (!event) return handler_->on_dropped(event.error());
        if (event->event == kPingRequest) append_user_control(output_, {kPingResponse, event->value});
        return;
    }
    const auto read = read_control_value(message);
    if (!read) return handler_->on_dropped(read.error());
    const uint32_t value = *read;
    if (message.type == kWindowAckSize) window_ = value;
    if (message.type == kSetPeerBandwidth && value && value != options_.out_ack_size) {
        options_.out_ack_size = value;
        append_window_ack_size(output_, value);
    }
}

Result<void> ClientSession::command(const Message& message) {
    const auto read = read_command(message);
    if (!read) {
        handler_->on_dropped(read.error());
        return {};
    }
    const Command& c = *read;
    if (c.name == "_result" || c.name == "_error") return answer(c);
    if (c.name == "onStatus") return status(c);
    if (c.name == "close") return fail(Code::kClosed, "the server closes the connection");
    return {};
}

Result<void> ClientSession::answer(const Command& c) {
    if (c.transaction_id != awaited_) return {};
    awaited_ = 0;
    if (c.name == "_error") {
        read_location(c.argument(1));
        return fail(Code::kRefused,
                    fmt::format("{} was refused: {}", state_ == State::kConnecting ? "connect" : "createStream",
                                words(c.argument(1))));
    }
    if (state_ == State::kConnecting) {
        if (options_.connect_only) {
            state_ = State::kReady;
            handler_->on_ready();
            return {};
        }
        state_ = State::kCreating;
        peer_multitrack_ = says_multitrack(c.argument(0)) || says_multitrack(c.argument(1));
        if (options_.publish) {
            send(kCommandChunkStream, 0, "releaseStream", {{}, url_.stream});
            send(kCommandChunkStream, 0, "FCPublish", {{}, url_.stream});
        }
        send(kCommandChunkStream, 0, "createStream", {{}});
        awaited_ = transaction_;
        return {};
    }
    if (state_ != State::kCreating) return {};
    state_ = State::kStarting;
    stream_id_ = static_cast<uint32_t>(c.argument(1).int_or(1, 0, UINT32_MAX));
    if (options_.publish) {
        send(kStatusChunkStream, stream_id_, "publish", {{}, url_.stream, "live"});
    } else {
        send(kStatusChunkStream, stream_id_, "play", {{}, url_.stream, -2000});
        append_user_control(output_, {kSetBufferLength, stream_id_, options_.buffer_ms});
    }
    return {};
}

Result<void> ClientSession::status(const Command& c) {
    const amf::Value& information = c.argument(1);
    std::string_view code = information.get("code").string_or("");
    if (information.get("level").string_or("") == "error") {
        read_location(information);
        return fail(Code::kRefused,
                    fmt::format("{} was refused: {}", options_.publish ? "publish" : "play", words(information)));
    }
    if (state_ == State::kStarting && (code == "NetStream.Publish.Start" || code == "NetStream.Play.Start")) {
        state_ = State::kReady;
        peer_path_ = information.get("forwardPath").string_or("").substr(0, kMaxForwardPath);
        handler_->on_ready();
        return {};
    }
    handler_->on_status(code, information.get("description").string_or(""));
    return {};
}

// redirect2 is the URL of the stream, redirect the tcUrl for it: FMS has only that.
void ClientSession::read_location(const amf::Value& information) {
    const amf::Value& ex = information.get("ex");
    if (ex.get("code").int_or(0) != kRedirected) return;
    location_ = ex.get("redirect2").string_or("");
    if (!location_.empty()) return;
    const std::string_view tc_url = ex.get("redirect").string_or("");
    if (!tc_url.empty()) location_ = fmt::format("{}/{}", tc_url, url_.stream);
}

void ClientSession::send_media(uint8_t type, uint32_t timestamp, std::span<const uint8_t> header,
                               std::span<const uint8_t> body) {
    uint32_t csid = type == kVideo ? kVideoChunkStream : type == kAudio ? kAudioChunkStream : kDataChunkStream;
    size_t at = output_.size();
    output_.resize(at + chunked_size(header.size() + body.size(), options_.chunk_size, timestamp, csid));
    write_chunks(output_.data() + at, csid, type, stream_id_, timestamp, header, body, options_.chunk_size);
}

void ClientSession::close() {
    if (!options_.connect_only && (state_ == State::kStarting || state_ == State::kReady)) {
        if (options_.publish) send(kCommandChunkStream, 0, "FCUnpublish", {{}, url_.stream});
        send(kCommandChunkStream, 0, "deleteStream", {{}, stream_id_});
    }
    state_ = State::kClosed;
}

}  // namespace rtmp
