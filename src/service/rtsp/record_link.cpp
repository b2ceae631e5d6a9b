#include "service/rtsp/record_link.h"

#include <algorithm>
#include <utility>

#include "live/hub/leases.h"
#include "protocol/http/via.h"
#include "protocol/sdp/session/control.h"
#include "runtime/loop/clock.h"
#include "service/relay/target.h"

namespace service::rtsp {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kRecordTracksMs = 5'000;

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
        TRY(ask(limit));
        if (peer_.location().empty()) break;
        if (redirects == relay::kMaxRedirects)
            return fail(Code::kProtocol, fmt::format("more than {} redirects", relay::kMaxRedirects));
        url_ = TRY(::rtsp::redirected(url_, peer_.location()), "redirect");
    }
    Ready made = TRY(ready());
    made.held = std::move(frames);
    return made;
}

// Asks until the server accepts the stream, or redirects to another one.
Result<void> RecordLink::ask(Deadline limit) {
    sdp::SessionText text;
    text.name = request_.stream->key().name;
    text.id = static_cast<uint64_t>(runtime::now_ms());
    text.version = 1;
    text.range = "npt=0-";
    ::rtsp::ClientOptions options;
    options.description = sdp::write_session(text, described_);
    options.via = http::via_of_path(request_.path, "RTSP/1.0");
    TRY(peer_.connect(url_, options, {.tcp_first = true, .has_other = !url_.tls}, request_.tls, limit));
    while (!peer_.is_streaming() && peer_.location().empty()) {
        if (peer_.has_ended()) return fail(Code::kClosed, "the server ended the session");
        const std::string bytes = peer_.take_output();
        runtime::ByteStream& stream = *peer_.stream();
        TRY(stream.write({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, limit));
        stream.acknowledge_soon();
        auto arrived = TRY(runtime::read_shared(stream, limit), "asking to publish");
        if (arrived.empty()) return fail(Code::kClosed, "closed by the peer when asked to publish");
        TRY(peer_.take(arrived));
    }
    return {};
}

PushLink::Refusal RecordLink::refusal() const {
    if (peer_.refused_status() == 508) return Refusal::kLoop;
    return peer_.refused_status() == 401 ? Refusal::kCredentials : Refusal::kNone;
}

Result<PeerTracks> RecordLink::on_described(const ::rtsp::Message&) {
    PeerTracks tracks{{}, url_.url};
    for (const sdp::SessionTrack& track : described_)
        tracks.controls.push_back(sdp::resolve_control(url_.url, track.control));
    return tracks;
}

Result<PlayKey> RecordLink::key() {
    PlayKey key;
    for (size_t i = 0; i < described_.size(); ++i) {
        const sdp::SessionTrack& track = described_[i];
        ::rtsp::Channels channels{static_cast<uint8_t>(2 * i), static_cast<uint8_t>(2 * i + 1)};
        if (peer_.tcp()) channels = *peer_.client().transport(i)->interleaved;
        if (channels.rtcp != channels.rtp + 1)
            return fail(Code::kOther, "the server chose channels of RTP and RTCP that do not follow each other");
        key.add({track.kind, track.index, track.format.codec, track.payload_type, channels.rtp});
    }
    return key;
}

Result<DatagramStream::Targets> RecordLink::targets() {
    DatagramStream::Targets targets;
    for (size_t i = 0; i < described_.size(); ++i) {
        const auto& port = peer_.client().transport(i)->server_port;
        if (!port) return fail(Code::kProtocol, "SETUP by UDP: the answer has no server_port");
        targets[i] = {{*peer_.address(), port->rtp}, {*peer_.address(), port->rtcp}, peer_.ports()[i].get()};
    }
    return targets;
}

Result<PushLink::Ready> RecordLink::ready() {
    Ready ready;
    ready.key = TRY(key()).log_key();
    ready.first_bytes = take_output();
    ready.detail = peer_.tcp() ? "interleaved" : "UDP";
    if (peer_.tcp()) {
        ready.socket = peer_.take_stream();
    } else {
        ready.socket = std::make_unique<DatagramStream>(peer_.take_stream(), *peer_.ports().front(), TRY(targets()));
    }
    counted_.begin(SessionKind::kForward, peer_.tcp() ? Carrier::kTcp : Carrier::kUdp);
    return ready;
}

Result<void> RecordLink::on_tick() {
    TRY(peer_.on_timer());
    const base::Ref<media::TrackSet> now = request_.stream->tracks();
    if (!now || now.get() == tracks_.get()) return {};
    tracks_ = now;
    if (are_the_same(tracks_to_send(*now), described_)) return {};
    return fail(Code::kClosed, "the stream's tracks have changed");
}

base::Slice RecordLink::take_output() {
    const std::string bytes = peer_.take_output();
    return base::Slice::copy({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

PushOffer push_offer() {
    return {.schemes = {"rtsp", "rtsps"}, .make = [](PushRequest request) -> Result<std::unique_ptr<PushLink>> {
                ::rtsp::Url url = TRY(::rtsp::parse_url(request.url));
                return std::make_unique<RecordLink>(std::move(request), std::move(url));
            }};
}

}  // namespace service::rtsp
