#include "service/rtsp/peer_session.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/random.h"
#include "service/relay/dial.h"

namespace service::rtsp {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr ::rtsp::Limits kPeerLimits{};
// Per call of on_timer(). The limit of waiting messages is for servers that do not read the answers.
constexpr size_t kMaxAnswerBytes = 16 * 1024;

}  // namespace

PeerSession::~PeerSession() = default;

Result<void> PeerSession::connect(const ::rtsp::Url& url, ::rtsp::ClientOptions options, Transports transports,
                                  ClientTls* tls, runtime::Deadline limit) {
    socket_ = TRY(relay::dial(url.host, url.port, url.tls ? tls : nullptr, limit, limit));
    address_ = base::IpAddress::parse(socket_->peer_ip());
    transports_ = transports;
    options.url = url.url;
    options.credentials = url.credentials;
    options.cnonce = runtime::secret_hex(8);
    client_.emplace(options);
    reader_.emplace(kPeerLimits);
    ports_.clear();
    location_.clear();
    tried_other_ = false;
    refused_status_ = 0;
    return {};
}

std::string PeerSession::take_output() {
    while (auto request = client_->take_request(runtime::now_ms())) output_ += ::rtsp::write(*request);
    return std::exchange(output_, {});
}

Result<void> PeerSession::on_timer() {
    answered_bytes_ = 0;
    return client_->on_timer(runtime::now_ms());
}

// Setting up may yield: the bytes are copied until it streams.
Result<void> PeerSession::take(std::span<const uint8_t> bytes) {
    std::vector<uint8_t> kept;
    if (!is_streaming()) {
        kept.assign(bytes.begin(), bytes.end());
        bytes = kept;
    }
    while (location_.empty()) {
        size_t used = 0;
        const auto step = reader_->feed(bytes, used);
        bytes = bytes.subspan(used);
        if (step == ::rtsp::Reader::Step::kNeedMore) break;
        if (step == ::rtsp::Reader::Step::kError) return fail(Code::kProtocol, std::string(reader_->error_text()));
        if (step == ::rtsp::Reader::Step::kMessage) {
            TRY(on_message(reader_->take_message()));
        } else if (const auto channel = client_->channel(reader_->channel())) {
            user_.on_interleaved(channel->track, channel->rtcp, reader_->payload());
        }
    }
    return {};
}

Result<void> PeerSession::on_request(const ::rtsp::Message& message) {
    const std::string answer = ::rtsp::write(client_->on_request(message));
    output_ += answer;
    answered_bytes_ += answer.size();
    if (answered_bytes_ > kMaxAnswerBytes) return fail(CloseReason::kFlood, "a flood of requests");
    return {};
}

Result<void> PeerSession::on_message(const ::rtsp::Message& message) {
    using Event = ::rtsp::ClientSession::Event;
    if (message.is_request) return on_request(message);
    auto event = client_->on_response(message, runtime::now_ms());
    if (!event) {
        refused_status_ = message.status;
        const std::string_view warning = message.headers.get("Warning");
        if (warning.empty()) return std::unexpected(std::move(event.error()));
        return fail(event.error().code(), fmt::format("{} ({})", event.error().text(), base::for_log(warning)));
    }
    switch (*event) {
        case Event::kDescribed:
            tracks_ = TRY(user_.on_described(message));
            return set_up(transports_.tcp_first);
        case Event::kOtherTransport:
            if (tried_other_ || !transports_.has_other)
                return fail(Code::kOther, "the server offers no transport that is allowed here");
            tried_other_ = true;
            return set_up(!tcp_);
        case Event::kRedirected:
            location_ = client_->location();
            return {};
        case Event::kStreaming:
            user_.on_streaming();
            return {};
        case Event::kEnded:
        case Event::kNone:
            return {};
    }
    return {};
}

Result<void> PeerSession::set_up(bool tcp) {
    if (!tcp && !address_) return fail(Code::kOther, "UDP with an address that has a zone is not supported");
    tcp_ = tcp;
    ports_.clear();
    std::vector<::rtsp::ClientTrack> tracks;
    for (const std::string& control : tracks_.controls) {
        ::rtsp::ClientTrack& track = tracks.emplace_back();
        track.control = control;
        if (tcp) continue;
        ports_.push_back(TRY(UdpPorts::open_any(refused_)));
        track.client_ports = ports_.back()->ports();
    }
    user_.on_transport();
    client_->set_up(std::move(tracks), tcp, tracks_.session);
    return {};
}

}  // namespace service::rtsp
