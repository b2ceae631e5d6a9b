#include "protocol/rtmp/server_session.h"

#include <algorithm>
#include <functional>

namespace rtmp {

using base::Code;
using base::fail;
using base::Result;

namespace {

// Only has to distinguish the streams of one connection.
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

// The stream that media on this id belongs to: some encoders send on another stream id than they publish on. Null:
// nothing is published.
ServerSession::Stream* ServerSession::publishing_stream(uint32_t id) {
    Stream* stream = find(id);
    if (stream && stream->use == Use::kPublish) return stream;
    for (Stream& s : streams_)
        if (s.use == Use::kPublish) return &s;
    return nullptr;
}

Result<void> ServerSession::media(Message& message) {
    if (message.type == kAggregate) {
        aggregate_ = std::make_unique<AggregateReader>(std::move(message));
        return hand_out_aggregate();
    }
    Stream* stream = publishing_stream(message.stream_id);
    if (stream) return handler_->on_media(stream->id, message);
    ++ignored_media_;
    return {};
}

// Delivers as many messages of the aggregate as are allowed now.
Result<void> ServerSession::hand_out_aggregate() {
    while (!aggregate_->at_end()) {
        Stream* stream = publishing_stream(aggregate_->stream_id());
        if (!stream) {
            ++ignored_media_;
            break;
        }
        if (messages_left_ == 0) return {};
        --messages_left_;
        auto part = aggregate_->next();
        if (!part) {
            handler_->on_dropped(part.error());
            break;
        }
        TRY(handler_->on_media(stream->id, *part));
    }
    aggregate_.reset();
    return {};
}

void ServerSession::control(const Message& message) {
    const auto read = read_control_value(message);
    if (!read) return handler_->on_dropped(read.error());
    const uint32_t value = *read;
    if (message.type == kAcknowledgement) {
        peer_acknowledged_ = value;
    } else if (message.type == kWindowAckSize) {
        window_ = value;
    } else if (value && value != out_ack_size_) {
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
    decide(Pending::kConnect, 0);
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

// A connection may publish several streams: the one with that name ends. Without a name the first one ends.
Result<void> ServerSession::fc_unpublish(const Message&, Command& c) {
    const std::string name(c.argument(1).string_or(""));
    for (Stream& stream : streams_) {
        if (stream.use != Use::kPublish || (!name.empty() && stream.name_hash != hash_of_name(name))) continue;
        uint32_t id = stream.id;
        Command notice{"onFCUnpublish", 0};
        notice.arguments.emplace_back();
        notice.arguments.push_back(
            amf::Value::object({{"code", "NetStream.Unpublish.Success"}, {"description", "Stop publishing stream."}}));
        append_command(output(), kStatusChunkStream, id, notice, out_chunk_size_);
        status(id, "status", "NetStream.Unpublish.Success", "Stream is now unpublished.");
        close(stream);
        break;
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
    uint32_t id = 1;
    while (find(id)) ++id;
    TRY(find_or_make(id));
    created_stream_ = true;
    result(c, static_cast<double>(id));
    return {};
}

Result<void> ServerSession::publish(const Message& message, Command& c) {
    Stream& stream = *TRY(find_or_make(message.stream_id));
    close(stream);
    PublishRequest request{stream.id, std::string(c.argument(1).string_or("")),
                           std::string(c.argument(2).string_or("live")), style_};
    stream.name_hash = hash_of_name(request.name);
    decide(Pending::kPublish, stream.id);
    handler_->on_publish(std::move(request));
    return {};
}

Result<void> ServerSession::play(const Message& message, Command& c) {
    Stream& stream = *TRY(find_or_make(message.stream_id));
    close(stream);
    PlayRequest request;
    request.stream_id = stream.id;
    request.name = c.argument(1).string_or("");
    request.start_ms = c.argument(2).number_or(-2000);
    request.duration_ms = c.argument(3).number_or(-1);
    request.reset = c.argument(4).bool_or(true);
    decide(Pending::kPlay, stream.id);
    handler_->on_play(std::move(request));
    return {};
}

Result<void> ServerSession::pause(const Message& message, Command& c) {
    Stream* stream = find(message.stream_id);
    if (!stream || stream->use != Use::kPlay) return {};
    bool paused = c.argument(1).bool_or(true);
    if (paused) append_user_control(output(), {kStreamEof, stream->id});
    if (!paused) append_user_control(output(), {kStreamBegin, stream->id});
    status(stream->id, "status", paused ? "NetStream.Pause.Notify" : "NetStream.Unpause.Notify",
           paused ? "Paused stream." : "Unpaused stream.");
    handler_->on_pause(stream->id, paused);
    return {};
}

Result<void> ServerSession::seek(const Message& message, Command&) {
    status(message.stream_id, "error", "NetStream.Seek.Failed", "A live stream has no other place.");
    return {};
}

Result<void> ServerSession::receive(const Message& message, Command& c) {
    Stream* stream = find(message.stream_id);
    if (!stream || stream->use != Use::kPlay) return {};
    bool wanted = c.argument(1).bool_or(true);
    handler_->on_receive(stream->id, c.name == "receiveAudio" ? media::Kind::kAudio : media::Kind::kVideo, wanted);
    return {};
}

Result<void> ServerSession::stream_length(const Message&, Command& c) {
    result(c, 0.0);
    return {};
}

Result<void> ServerSession::close_stream(const Message& message, Command& c) {
    bool deleted = c.name == "deleteStream";
    uint32_t id = message.stream_id;
    if (deleted) id = static_cast<uint32_t>(c.argument(1).int_or(id, 0, UINT32_MAX));
    Stream* stream = find(id);
    if (!stream) return {};
    close(*stream);
    // The handler may have changed streams_.
    if (deleted) std::erase_if(streams_, [id](const Stream& s) { return s.id == id; });
    return {};
}

Result<void> ServerSession::answer_nothing(const Message&, Command& c) {
    result(c, amf::Value::undefined());
    return {};
}

Result<void> ServerSession::ignore(const Message&, Command&) { return {}; }

ServerSession::Stream* ServerSession::find(uint32_t id) {
    for (Stream& stream : streams_)
        if (stream.id == id) return &stream;
    return nullptr;
}

// Creates streams that were never created by the client: some clients publish and play on 0 or 1 without createStream.
Result<ServerSession::Stream*> ServerSession::find_or_make(uint32_t id) {
    if (Stream* stream = find(id)) return stream;
    if (streams_.size() >= kMaxStreams) return fail(Code::kLimit, fmt::format("more than {} streams", kMaxStreams));
    return &streams_.emplace_back(Stream{id});
}

void ServerSession::close(Stream& stream) {
    if (stream.use == Use::kIdle) return;
    stream.use = Use::kIdle;
    handler_->on_close_stream(stream.id);
}

bool ServerSession::publishing() const {
    return std::ranges::any_of(streams_, [](const Stream& s) { return s.use == Use::kPublish; });
}

}  // namespace rtmp
