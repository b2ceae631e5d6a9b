#include "protocol/rtmp/server_session.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace rtmp {

using base::Code;
using base::fail;
using base::Result;

namespace {

// FCUnpublish may name a stream that was published before.
uint32_t hash_of_name(std::string_view name) {
    return static_cast<uint32_t>(std::hash<std::string_view>()(name.substr(0, name.find('?'))));
}

}  // namespace

Result<size_t> ServerSession::feed(std::span<const uint8_t> bytes) {
    if (!takes_input()) return size_t{0};
    messages_left_ = kMessagesAtOnce;
    if (aggregate_) TRY(hand_out_aggregate());
    if (aggregate_ || messages_left_ == 0) return size_t{0};
    size_t taken = TRY(reader_.feed(bytes, *this));
    received_ += static_cast<uint32_t>(taken);
    if (window_ && received_ - acknowledged_ >= window_) acknowledge();
    return taken;
}

void ServerSession::acknowledge() {
    acknowledged_ = received_;
    append_acknowledgement(output(), received_);
}

Result<bool> ServerSession::on_message(Message& message) {
    if (messages_left_ > 0) --messages_left_;
    switch (message.type) {
        case kAudio:
        case kVideo:
        case kData:
        case kDataAmf3:
        case kAggregate:
            TRY(media(message));
            break;
        case kCommand:
        case kCommandAmf3:
            TRY(command(message));
            break;
        case kUserControl:
            user_control(message);
            break;
        case kAcknowledgement:
        case kWindowAckSize:
        case kSetPeerBandwidth:
            control(message);
            break;
        default:  // shared objects and unknown types
            break;
    }
    return takes_input() && !aggregate_ && messages_left_ > 0;
}

// Some encoders send media on another message stream than they publish on.
Result<void> ServerSession::media(Message& message) {
    if (message.type == kAggregate) {
        aggregate_ = std::make_unique<AggregateReader>(std::move(message));
        return hand_out_aggregate();
    }
    if (publishing()) return handler_->on_media(message);
    return {};
}

// Delivers as many messages of the aggregate as are allowed now.
Result<void> ServerSession::hand_out_aggregate() {
    while (!aggregate_->at_end()) {
        if (!publishing()) break;
        if (messages_left_ == 0) return {};
        --messages_left_;
        auto part = aggregate_->next();
        if (!part) {
            handler_->on_dropped(part.error());
            break;
        }
        TRY(handler_->on_media(*part));
    }
    aggregate_.reset();
    return {};
}

void ServerSession::control(const Message& message) {
    const auto read = read_control_value(message);
    if (!read) return handler_->on_dropped(read.error());
    const uint32_t value = *read;
    if (message.type == kWindowAckSize) {
        window_ = value;
    } else if (message.type == kSetPeerBandwidth && value && value != out_ack_size_) {
        out_ack_size_ = value;
        append_window_ack_size(output(), value);
    }
}

// The buffer length that players announce is not used.
void ServerSession::user_control(const Message& message) {
    const auto event = read_user_control(message);
    if (!event) return handler_->on_dropped(event.error());
    if (event->event == kPingRequest) append_user_control(output(), {kPingResponse, event->value});
}

struct ServerSession::Row {
    std::string_view name;
    Action action;
};

Result<void> ServerSession::command(const Message& message) {
    static constexpr Row kRows[] = {
        {"connect", &ServerSession::connect},
        {"releaseStream", &ServerSession::release_stream},
        {"FCPublish", &ServerSession::fc_publish},
        {"FCUnpublish", &ServerSession::fc_unpublish},
        {"FCSubscribe", &ServerSession::fc_subscribe},
        {"FCUnsubscribe", &ServerSession::answer_nothing},
        {"createStream", &ServerSession::create_stream},
        {"initStream", &ServerSession::answer_nothing},
        {"publish", &ServerSession::publish},
        {"play", &ServerSession::play},
        {"pause", &ServerSession::pause},
        {"pauseRaw", &ServerSession::pause},
        {"seek", &ServerSession::seek},
        {"receiveAudio", &ServerSession::receive},
        {"receiveVideo", &ServerSession::receive},
        {"getStreamLength", &ServerSession::stream_length},
        {"closeStream", &ServerSession::close_stream},
        {"deleteStream", &ServerSession::close_stream},
        {"_checkbw", &ServerSession::answer_nothing},
        {"checkBandwidth", &ServerSession::answer_nothing},
        {"setPeerInfo", &ServerSession::answer_nothing},
        {"_result", &ServerSession::ignore},
        {"_error", &ServerSession::ignore},
        {"onStatus", &ServerSession::ignore},
        {"close", &ServerSession::ignore},
    };
    auto read = read_command(message);
    if (!read && connected_) {
        handler_->on_dropped(read.error());
        return {};
    }
    Command c = TRY(std::move(read));
    const Row* row = std::ranges::find(kRows, std::string_view(c.name), &Row::name);
    bool known = row != std::end(kRows);
    if (!connected_ && c.name != "connect")
        return fail(Code::kProtocol, fmt::format("{} before connect", known ? c.name : "an unknown command"));
    if (known) return (this->*row->action)(message, c);
    if (c.transaction_id > 0) {
        Command error{"_error", c.transaction_id};
        error.arguments.emplace_back();
        error.arguments.push_back(amf::Value::object(
            {{"level", "error"}, {"code", "NetConnection.Call.Failed"}, {"description", "the method is not known"}}));
        append_command(output(), kCommandChunkStream, message.stream_id, error, out_chunk_size_);
    }
    return {};
}

Result<void> ServerSession::connect(const Message&, Command& c) {
    if (connected_) return fail(Code::kProtocol, "a second connect");
    const amf::Value& object = c.argument(0);
    ConnectRequest request;
    request.app = object.get("app").string_or("");
    request.tc_url = object.get("tcUrl").string_or("");
    request.page_url = object.get("pageUrl").string_or("");
    request.swf_url = object.get("swfUrl").string_or("");
    request.flash_version = object.get("flashVer").string_or("");
    request.object_encoding = object.get("objectEncoding").number_or(0);
    request.forward_path = object.get("forwardPath").string_or("").substr(0, kMaxForwardPath);
    request.enhanced = object.has("fourCcList") || object.has("videoFourCcInfoMap") || object.has("capsEx");
    request.multitrack = says_multitrack(object);
    request.connect_only = object.get("connectOnly").bool_or(false);
    object_encoding_3_ = request.object_encoding == 3;
    enhanced_ = request.enhanced;
    connect_transaction_ = c.transaction_id;
    pending_ = Pending::kConnect;
    handler_->on_connect(std::move(request));
    return {};
}

Result<void> ServerSession::release_stream(const Message&, Command& c) {
    style_ = PublishStyle::kFmle;
    result(c, amf::Value::undefined());
    return {};
}

Result<void> ServerSession::fc_publish(const Message&, Command& c) {
    if (style_ == PublishStyle::kFlash) style_ = created_stream_ ? PublishStyle::kHaivision : PublishStyle::kFmle;
    fc_published_ = true;
    result(c, amf::Value::undefined());
    return {};
}

// Without a name it is that of the stream which is published.
Result<void> ServerSession::fc_unpublish(const Message&, Command& c) {
    const std::string name(c.argument(1).string_or(""));
    if (publishing() && (name.empty() || name_hash_ == hash_of_name(name))) {
        Command notice{"onFCUnpublish", 0};
        notice.arguments.emplace_back();
        notice.arguments.push_back(
            amf::Value::object({{"code", "NetStream.Unpublish.Success"}, {"description", "Stop publishing stream."}}));
        append_command(output(), kStatusChunkStream, stream_id_, notice, out_chunk_size_);
        status(stream_id_, "status", "NetStream.Unpublish.Success", "Stream is now unpublished.");
        close();
    }
    result(c, amf::Value::undefined());
    return {};
}

Result<void> ServerSession::fc_subscribe(const Message& message, Command& c) {
    Command notice{"onFCSubscribe", 0};
    notice.arguments.emplace_back();
    notice.arguments.push_back(amf::Value::object(
        {{"level", "status"}, {"code", "NetStream.Play.Start"}, {"description", "Started playing stream."}}));
    append_command(output(), kCommandChunkStream, message.stream_id, notice, out_chunk_size_);
    result(c, amf::Value::undefined());
    return {};
}

Result<void> ServerSession::create_stream(const Message&, Command& c) {
    created_stream_ = true;
    result(c, 1.0);
    return {};
}

Result<void> ServerSession::publish(const Message& message, Command& c) {
    if (!may_begin(message, "NetStream.Publish.BadName")) return {};
    PublishRequest request{std::string(c.argument(1).string_or("")), std::string(c.argument(2).string_or("live")),
                           style_};
    name_hash_ = hash_of_name(request.name);
    pending_ = Pending::kPublish;
    handler_->on_publish(std::move(request));
    return {};
}

Result<void> ServerSession::play(const Message& message, Command& c) {
    if (!may_begin(message, "NetStream.Play.Failed")) return {};
    PlayRequest request;
    request.name = c.argument(1).string_or("");
    request.start_ms = c.argument(2).number_or(-2000);
    request.duration_ms = c.argument(3).number_or(-1);
    request.reset = c.argument(4).bool_or(true);
    pending_ = Pending::kPlay;
    handler_->on_play(std::move(request));
    return {};
}

Result<void> ServerSession::pause(const Message& message, Command& c) {
    if (use_ != Use::kPlay || message.stream_id != stream_id_) return {};
    bool paused = c.argument(1).bool_or(true);
    append_user_control(output(), {paused ? kStreamEof : kStreamBegin, stream_id_});
    status(stream_id_, "status", paused ? "NetStream.Pause.Notify" : "NetStream.Unpause.Notify",
           paused ? "Paused stream." : "Unpaused stream.");
    handler_->on_pause(paused);
    return {};
}

Result<void> ServerSession::seek(const Message& message, Command&) {
    status(message.stream_id, "error", "NetStream.Seek.Failed", "A live stream has no other place.");
    return {};
}

Result<void> ServerSession::receive(const Message& message, Command& c) {
    if (use_ != Use::kPlay || message.stream_id != stream_id_) return {};
    bool wanted = c.argument(1).bool_or(true);
    handler_->on_receive(c.name == "receiveAudio" ? media::Kind::kAudio : media::Kind::kVideo, wanted);
    return {};
}

Result<void> ServerSession::stream_length(const Message&, Command& c) {
    result(c, 0.0);
    return {};
}

Result<void> ServerSession::close_stream(const Message& message, Command& c) {
    uint32_t id = message.stream_id;
    if (c.name == "deleteStream") id = static_cast<uint32_t>(c.argument(1).int_or(id, 0, UINT32_MAX));
    if (id == stream_id_) close();
    return {};
}

Result<void> ServerSession::answer_nothing(const Message&, Command& c) {
    result(c, amf::Value::undefined());
    return {};
}

Result<void> ServerSession::ignore(const Message&, Command&) { return {}; }

// Clients may publish and play on 0 or 1 without createStream.
bool ServerSession::may_begin(const Message& message, std::string_view code) {
    if (use_ == Use::kIdle) {
        stream_id_ = message.stream_id;
        return true;
    }
    const std::string why = fmt::format("the connection {} a stream already", publishing() ? "publishes" : "plays");
    status(message.stream_id, "error", code, why);
    handler_->on_dropped(base::Error(Code::kRefused, why));
    return false;
}

void ServerSession::close() {
    if (std::exchange(use_, Use::kIdle) != Use::kIdle) handler_->on_close_stream();
}

}  // namespace rtmp
