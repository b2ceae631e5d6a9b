#include "service/rtsp/record_link.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "live/hub/leases.h"
#include "protocol/http/via.h"
#include "protocol/sdp/session/control.h"
#include "runtime/loop/clock.h"
#include "service/relay/dial.h"
#include "service/relay/target.h"
#include "service/rtsp/random.h"

namespace service::rtsp {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kRecordTracksMs = 5'000;
constexpr ::rtsp::Limits kAnswerLimits{};
// Per tick. The viewer's limit of waiting messages is for servers that do not read the answers.
constexpr size_t kMaxAnswerBytes = 16 * 1024;

std::vector<sdp::SessionTrack> tracks_to_send(const media::TrackSet& set) {
    std::vector<sdp::SessionTrack> tracks = sdp::session_tracks(set);
    if (tracks.size() > kMaxPlayTracks) tracks.resize(kMaxPlayTracks);
    return tracks;
}

bool are_the_same(const std::vector<sdp::SessionTrack>& a, const std::vector<sdp::SessionTrack>& b) {
    return std::ranges::equal(a, b, [](const sdp::SessionTrack& one, const sdp::SessionTrack& other) {
        return one.kind == other.kind && one.index == other.index && one.format.codec == other.format.codec &&
               one.payload_type == other.payload_type;
    });
}

}  // namespace

net::SessionType rtsp_forward_type() {
    static const net::SessionType kType = net::SessionType::add("rtsp-forward", false);
    return kType;
}

RecordLink::RecordLink(PushRequest request, ::rtsp::Url url) : request_(std::move(request)), url_(std::move(url)) {}

RecordLink::~RecordLink() = default;

Result<PushLink::Ready> RecordLink::begin(Deadline limit) {
    auto frames = std::make_shared<live::FramesLease>(request_.stream);
    TRY(request_.stream->await(live::Awaited::kTracks, Deadline::in_ms(kRecordTracksMs),
                               {.may_wait = [this] { return request_.stream->published(); }}));
    tracks_ = request_.stream->tracks();
    described_ = tracks_to_send(*tracks_);
    if (described_.empty()) return fail(Code::kNotFound, "the stream has no track that RTP carries");
    for (int redirects = 0;; ++redirects) {
        socket_ = TRY(relay::dial(url_.host, url_.port, url_.tls ? request_.tls : nullptr, limit, limit));
        address_ = base::IpAddress::parse(socket_->peer_ip());
        TRY(ask(limit));
        if (location_.empty()) break;
        if (redirects == relay::kMaxRedirects)
            return fail(Code::kProtocol, fmt::format("more than {} redirects", relay::kMaxRedirects));
        url_ = TRY(::rtsp::redirected(url_, std::exchange(location_, {})), "redirect");
    }
    Ready made = TRY(ready());
    made.held = std::move(frames);
    return made;
}

// Until the server accepts the stream, or redirects to another one.
Result<void> RecordLink::ask(Deadline limit) {
    sdp::SessionText text;
    text.name = request_.stream->key().name;
    text.id = static_cast<uint64_t>(runtime::now_ms());
    text.version = 1;
    text.range = "npt=0-";
    ::rtsp::ClientOptions options;
    options.url = url_.url;
    options.credentials = url_.credentials;
    options.cnonce = random_hex(8);
    options.description = sdp::write_session(text, described_);
    options.via = http::via_of_path(request_.path, "RTSP/1.0");
    client_.emplace(options);
    reader_.emplace(kAnswerLimits);
    ports_.clear();
    tcp_ = true;
    while (client_->state() != Client::State::kStreaming && location_.empty()) {
        add_requests();
        const std::string bytes = std::exchange(output_, {});
        TRY(socket_->write({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, limit));
        socket_->acknowledge_soon();
        auto arrived = TRY(runtime::read_shared(*socket_, limit), "asking to publish");
        if (arrived.empty()) return fail(Code::kClosed, "closed by the peer when asked to publish");
        // Setting up may yield.
        const std::vector<uint8_t> kept(arrived.begin(), arrived.end());
        TRY(take(kept));
    }
    return {};
}

void RecordLink::add_requests() {
    while (auto request = client_->take_request(runtime::now_ms())) output_ += ::rtsp::write(*request);
}

Result<void> RecordLink::take(std::span<const uint8_t> bytes) {
    while (location_.empty()) {
        size_t used = 0;
        const auto step = reader_->feed(bytes, used);
        bytes = bytes.subspan(used);
        if (step == ::rtsp::Reader::Step::kNeedMore) return {};
        if (step == ::rtsp::Reader::Step::kError) return fail(Code::kProtocol, std::string(reader_->error_text()));
        // Interleaved frames are the server's receiver reports.
        if (step == ::rtsp::Reader::Step::kMessage) TRY(on_message(reader_->take_message()));
    }
    return {};
}

Result<void> RecordLink::on_message(const ::rtsp::Message& message) {
    if (message.is_request) {
        const std::string answer = ::rtsp::write(client_->on_request(message));
        output_ += answer;
        answered_bytes_ += answer.size();
        if (answered_bytes_ > kMaxAnswerBytes) return fail(CloseReason::kFlood, "a flood of requests");
        return {};
    }
    if (message.status == 508) refusal_ = Refusal::kLoop;
    auto event = client_->on_response(message, runtime::now_ms());
    if (!event) {
        if (message.status == 401) refusal_ = Refusal::kCredentials;
        const std::string_view warning = message.headers.get("Warning");
        if (warning.empty()) return std::unexpected(std::move(event.error()));
        return fail(event.error().code(), fmt::format("{} ({})", event.error().text(), base::for_log(warning)));
    }
    switch (*event) {
        case Client::Event::kDescribed:
            return set_up(true);
        case Client::Event::kOtherTransport:
            if (!tcp_ || url_.tls || !address_)
                return fail(Code::kOther, "the server offers no transport that is possible here");
            return set_up(false);
        case Client::Event::kRedirected:
            location_ = client_->location();
            return {};
        case Client::Event::kStreaming:
        case Client::Event::kEnded:
        case Client::Event::kNone:
            return {};
    }
    return {};
}

Result<void> RecordLink::set_up(bool tcp) {
    tcp_ = tcp;
    std::vector<::rtsp::ClientTrack> tracks;
    for (const sdp::SessionTrack& described : described_) {
        ::rtsp::ClientTrack& track = tracks.emplace_back();
        track.control = sdp::resolve_control(url_.url, described.control);
        if (tcp) continue;
        ports_.push_back(TRY(UdpPorts::open_any(rtsp_stats().refused_unknown)));
        track.client_ports = ports_.back()->ports();
    }
    client_->set_up(std::move(tracks), tcp, url_.url);
    return {};
}

Result<PlayKey> RecordLink::key() const {
    PlayKey key;
    for (size_t i = 0; i < described_.size(); ++i) {
        const sdp::SessionTrack& track = described_[i];
        ::rtsp::Channels channels{static_cast<uint8_t>(2 * i), static_cast<uint8_t>(2 * i + 1)};
        if (tcp_) channels = *client_->transport(i)->interleaved;
        if (channels.rtcp != channels.rtp + 1)
            return fail(Code::kOther, "the server chose channels of RTP and RTCP that do not follow each other");
        key.add({track.kind, track.index, track.format.codec, track.payload_type, channels.rtp});
    }
    return key;
}

Result<DatagramStream::Targets> RecordLink::targets() const {
    DatagramStream::Targets targets;
    for (size_t i = 0; i < described_.size(); ++i) {
        const auto& port = client_->transport(i)->server_port;
        if (!port) return fail(Code::kProtocol, "SETUP by UDP: the answer has no server_port");
        targets[i] = {{*address_, port->rtp}, {*address_, port->rtcp}, ports_[i].get()};
    }
    return targets;
}

Result<PushLink::Ready> RecordLink::ready() {
    Ready ready;
    ready.key = TRY(key()).log_key();
    ready.first_bytes = take_output();
    ready.detail = tcp_ ? "interleaved" : "UDP";
    if (tcp_) {
        ready.socket = std::move(socket_);
    } else {
        ready.socket = std::make_unique<DatagramStream>(std::move(socket_), *ports_.front(), TRY(targets()));
    }
    counted_.begin(SessionKind::kForward, tcp_ ? Carrier::kTcp : Carrier::kUdp);
    return ready;
}

Result<void> RecordLink::on_input(std::span<const uint8_t> bytes) {
    TRY(take(bytes));
    add_requests();
    return {};
}

Result<void> RecordLink::on_tick() {
    answered_bytes_ = 0;
    TRY(client_->on_timer(runtime::now_ms()));
    add_requests();
    const base::Ref<media::TrackSet> now = request_.stream->tracks();
    if (!now || now.get() == tracks_.get()) return {};
    tracks_ = now;
    if (are_the_same(tracks_to_send(*now), described_)) return {};
    return fail(Code::kClosed, "the stream's tracks have changed");
}

void RecordLink::on_stream_end() {
    client_->end();
    add_requests();
}

base::Slice RecordLink::take_output() {
    const std::string bytes = std::exchange(output_, {});
    return base::Slice::copy({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

PushOffer push_offer() {
    return {.schemes = {"rtsp", "rtsps"}, .make = [](PushRequest request) -> Result<std::unique_ptr<PushLink>> {
                ::rtsp::Url url = TRY(::rtsp::parse_url(request.url));
                return std::make_unique<RecordLink>(std::move(request), std::move(url));
            }};
}

}  // namespace service::rtsp
