#include "load/rtsp_dialog.h"

#include <algorithm>

#include "protocol/rtsp/client_session.h"
#include "protocol/rtsp/reader.h"
#include "protocol/sdp/session/read.h"

namespace load {

namespace {

constexpr rtsp::Limits kLimits{};

void append(std::vector<uint8_t>& out, const std::string& text) { out.insert(out.end(), text.begin(), text.end()); }

rtsp::ClientOptions session_options(const Target& target, const DialogOptions& options) {
    rtsp::ClientOptions out;
    out.url = target.url;
    out.description = options.description;
    out.user_agent = "bench";
    return out;
}

}  // namespace

struct RtspDialog::Opening {
    Opening(const Target& target, DialogOptions given)
        : options(std::move(given)), url(target.url), session(session_options(target, options)), reader(kLimits) {}
    DialogOptions options;
    std::string url;
    rtsp::ClientSession session;
    rtsp::Reader reader;
};

RtspDialog::RtspDialog(const Target& target, Role role, DialogOptions options) {
    if (role == Role::kPlay) options.description.clear();
    udp_ = !options.client_ports.empty();
    opening_ = std::make_unique<Opening>(target, std::move(options));
}

RtspDialog::~RtspDialog() = default;

void RtspDialog::start(std::vector<uint8_t>& out) {
    if (auto request = opening_->session.take_request(0)) append(out, rtsp::write(*request));
}

base::Result<void> RtspDialog::feed(std::span<const uint8_t> bytes, MediaSink& sink, std::vector<uint8_t>& out) {
    while (opening_ && !bytes.empty()) bytes = bytes.subspan(TRY(step(bytes, sink, out)));
    return skimmer_.feed(bytes, sink);
}

base::Result<size_t> RtspDialog::step(std::span<const uint8_t> bytes, MediaSink& sink, std::vector<uint8_t>& out) {
    using Step = rtsp::Reader::Step;
    size_t used = 0;
    rtsp::Reader& reader = opening_->reader;
    switch (reader.feed(bytes, used)) {
        case Step::kNeedMore:
            break;
        case Step::kError:
            return base::fail(base::Code::kProtocol, std::string(reader.error_text()));
        case Step::kInterleaved: {  // media may overtake the answer to PLAY
            auto payload = reader.payload();
            TRY(skimmer_.frame(reader.channel(), payload.first(std::min(payload.size(), kPacketHeadBytes)),
                               payload.size(), sink));
            break;
        }
        case Step::kMessage:
            TRY(on_response(out));
            break;
    }
    return used;
}

base::Result<void> RtspDialog::on_response(std::vector<uint8_t>& out) {
    using Event = rtsp::ClientSession::Event;
    const rtsp::Message message = opening_->reader.take_message();
    if (message.is_request) {
        append(out, rtsp::write(opening_->session.on_request(message)));
        return {};
    }
    switch (TRY(opening_->session.on_response(message, 0))) {
        case Event::kNone:
            set_channels();
            break;
        case Event::kDescribed:
            TRY(set_up());
            break;
        case Event::kStreaming:
            set_channels();
            ready_ = true;
            opening_.reset();
            return {};
        case Event::kOtherTransport:
            return base::fail(base::Code::kRefused, "SETUP: the server does not offer this transport");
        case Event::kRedirected:
            return base::fail(base::Code::kRefused, "the server redirects");
        case Event::kEnded:
            return base::fail(base::Code::kClosed, "the server ended the session");
    }
    if (auto request = opening_->session.take_request(0)) append(out, rtsp::write(*request));
    return {};
}

// Of a description that was received, or is our own.
base::Result<void> RtspDialog::set_up() {
    rtsp::ClientSession& session = opening_->session;
    const bool publishes = !opening_->options.description.empty();
    auto described = TRY(sdp::read_session_text(publishes ? opening_->options.description : session.description(),
                                                publishes ? opening_->url : session.base()));
    const auto& ports = opening_->options.client_ports;
    std::vector<rtsp::ClientTrack> tracks;
    for (const sdp::SessionTrack& track : described.tracks) {
        if (udp_ && tracks.size() == ports.size()) break;
        const bool is_video = track.kind == media::Kind::kVideo;
        if (!skimmer_.rtp().add_track(is_video, track.format.clock_rate, track.format.codec == media::Codec::kH264))
            break;
        tracks.push_back({track.control, udp_ ? ports[tracks.size()] : rtsp::Ports{}});
    }
    if (tracks.empty()) return base::fail(base::Code::kProtocol, "the description has no track that can be used");
    session.set_up(std::move(tracks), !udp_, described.control);
    return {};
}

// The server may have chosen others.
void RtspDialog::set_channels() {
    for (size_t i = 0; i < skimmer_.rtp().tracks(); ++i) {
        const rtsp::Transport* transport = opening_->session.transport(i);
        if (!transport || !transport->interleaved) continue;
        skimmer_.set_channels(i, transport->interleaved->rtp, transport->interleaved->rtcp);
    }
}

base::Result<void> RtspDialog::on_datagram(size_t track, std::span<const uint8_t> packet, MediaSink& sink) {
    if (track >= skimmer_.rtp().tracks()) return {};
    return skimmer_.rtp().packet(track, packet.first(std::min(packet.size(), kPacketHeadBytes)), packet.size(), sink);
}

}  // namespace load
