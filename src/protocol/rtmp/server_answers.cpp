// The answers and notifications of ServerSession.

#include <algorithm>

#include "protocol/rtmp/server_session.h"

namespace rtmp {

namespace {

constexpr uint32_t kPeerBandwidth = 2500000;

amf::Value status_object(std::string_view level, std::string_view code, std::string_view description) {
    return amf::Value::object({{"level", level}, {"code", code}, {"description", description}});
}

// Adds the server's capabilities in Enhanced RTMP: all codecs are forwarded, multitrack and ModEx are supported.
void add_enhanced(amf::Value& object) {
    constexpr double kForward = 4;
    constexpr double kModEx = 4;
    amf::Value list = amf::Value::strict_array();
    amf::Value video = amf::Value::object(), audio = amf::Value::object();
    for (const char* name : {"avc1", "hvc1", "av01", "vp09", "vp08"}) {
        list.append_element(name);
        video.append_member(name, kForward);
    }
    for (const char* name : {"mp4a", ".mp3", "Opus", "fLaC", "ac-3", "ec-3"}) {
        list.append_element(name);
        audio.append_member(name, kForward);
    }
    object.append_member("fourCcList", std::move(list));
    object.append_member("videoFourCcInfoMap", std::move(video));
    object.append_member("audioFourCcInfoMap", std::move(audio));
    object.append_member("capsEx", kCapsMultitrack + kModEx);
}

}  // namespace

void ServerSession::decided(Pending what, Use use) {
    CHECK(pending_ == what);
    pending_ = Pending::kNone;
    use_ = use;
}

void ServerSession::result(const Command& asked, amf::Value value) {
    if (asked.transaction_id <= 0) return;
    Command answer{"_result", asked.transaction_id};
    answer.arguments.emplace_back();
    answer.arguments.push_back(std::move(value));
    append_command(output(), kCommandChunkStream, 0, answer, out_chunk_size_);
}

void ServerSession::status(uint32_t stream_id, std::string_view level, std::string_view code,
                           std::string_view description, std::string_view path) {
    Command notice{"onStatus", 0};
    notice.arguments.emplace_back();
    amf::Value information = status_object(level, code, description);
    if (!path.empty()) information.append_member("forwardPath", path.substr(0, kMaxForwardPath));
    notice.arguments.push_back(std::move(information));
    append_command(output(), kStatusChunkStream, stream_id, notice, out_chunk_size_);
}

void ServerSession::accept_connect(const ConnectOptions& options) {
    decided(Pending::kConnect, Use::kIdle);
    connected_ = true;
    out_ack_size_ = options.out_ack_size;
    if (window_ == 0) window_ = options.in_ack_size;
    if (out_ack_size_) append_window_ack_size(output(), out_ack_size_);
    append_set_peer_bandwidth(output(), out_ack_size_ ? out_ack_size_ : kPeerBandwidth, LimitType::kDynamic);
    out_chunk_size_ = std::clamp(options.chunk_size, kMinChunkSize, kMaxMessage);
    append_set_chunk_size(output(), out_chunk_size_);

    Command answer{"_result", connect_transaction_};
    // Flash-era clients derive the supported features from this version.
    auto properties = amf::Value::object({{"fmsVer", "FMS/3,5,3,888"}, {"capabilities", 127}, {"mode", 1}});
    auto information = status_object("status", "NetConnection.Connect.Success", "Connection succeeded");
    information.append_member("objectEncoding", object_encoding_3_ ? 3 : 0);
    information.append_member(
        "data", amf::Value::ecma_array({{"version", "3,5,3,888"}, {"server", options.server}, {"id", options.id}}));
    if (enhanced_) {
        // Clients differ in which of the two objects they read.
        add_enhanced(properties);
        add_enhanced(information);
    }
    answer.arguments.push_back(std::move(properties));
    answer.arguments.push_back(std::move(information));
    append_command(output(), kCommandChunkStream, 0, answer, out_chunk_size_);

    Command bandwidth_done{"onBWDone", 0};
    bandwidth_done.arguments.emplace_back();
    append_command(output(), kCommandChunkStream, 0, bandwidth_done, out_chunk_size_);
}

void ServerSession::refuse_connect(std::string_view code, std::string_view description) {
    decided(Pending::kConnect, Use::kIdle);
    Command answer{"_error", connect_transaction_};
    answer.arguments.emplace_back();
    answer.arguments.push_back(status_object("error", code, description));
    append_command(output(), kCommandChunkStream, 0, answer, out_chunk_size_);
}

void ServerSession::accept_publish() {
    reader_.set_takes_media(true);  // for good: after the end of its publication it may not know of that yet
    decided(Pending::kPublish, Use::kPublish);
    if (fc_published_) {
        Command notice{"onFCPublish", 0};
        notice.arguments.emplace_back();
        notice.arguments.push_back(
            amf::Value::object({{"code", "NetStream.Publish.Start"}, {"description", "Started publishing stream."}}));
        append_command(output(), kStatusChunkStream, stream_id_, notice, out_chunk_size_);
    }
    status(stream_id_, "status", "NetStream.Publish.Start", "Started publishing stream.");
}

void ServerSession::refuse_publish(std::string_view code, std::string_view description) {
    decided(Pending::kPublish, Use::kIdle);
    status(stream_id_, "error", code, description);
}

void ServerSession::accept_play(bool reset, std::string_view path) {
    decided(Pending::kPlay, Use::kPlay);
    append_user_control(output(), {kStreamBegin, stream_id_});
    if (reset) status(stream_id_, "status", "NetStream.Play.Reset", "Playing and resetting stream.");
    status(stream_id_, "status", "NetStream.Play.Start", "Started playing stream.", path);
    append_data(output(), stream_id_, 0, {"|RtmpSampleAccess", true, true}, out_chunk_size_);
}

void ServerSession::refuse_play(std::string_view code, std::string_view description) {
    decided(Pending::kPlay, Use::kIdle);
    status(stream_id_, "error", code, description);
}

void ServerSession::redirect_play(std::string_view url) {
    decided(Pending::kPlay, Use::kIdle);
    Command notice{"onStatus", 0};
    notice.arguments.emplace_back();
    amf::Value information = status_object("error", "NetConnection.Connect.Rejected", "RTMP 302 Redirect");
    const std::string_view tc_url = url.substr(0, url.substr(0, url.find('?')).rfind('/'));
    information.append_member("ex", amf::Value::object({{"code", 302}, {"redirect", tc_url}, {"redirect2", url}}));
    notice.arguments.push_back(std::move(information));
    append_command(output(), kStatusChunkStream, stream_id_, notice, out_chunk_size_);
}

void ServerSession::end_publish(std::string_view code, std::string_view description) {
    use_ = Use::kIdle;
    status(stream_id_, "error", code, description);
}

void ServerSession::end_play() {
    use_ = Use::kIdle;
    append_user_control(output(), {kStreamEof, stream_id_});
    status(stream_id_, "status", "NetStream.Play.UnpublishNotify", "The stream is now unpublished.");
    status(stream_id_, "status", "NetStream.Play.Stop", "Stopped playing stream.");
}

}  // namespace rtmp
