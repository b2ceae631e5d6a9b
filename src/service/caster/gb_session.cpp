#include "service/caster/gb_session.h"

#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "convert/ts/ps_reader.h"
#include "runtime/loop/clock.h"
#include "service/caster/service.h"
#include "service/caster/stats.h"

namespace service::caster {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

// RFC 4571, 2.
constexpr size_t kFrameLength = 2;

}  // namespace

net::SessionType gb_publish_type() {
    static const net::SessionType kType = net::SessionType::add("gb28181-publish", true);
    return kType;
}

GbSession::GbSession(Service& service, std::unique_ptr<runtime::ByteStream> socket, int64_t limit_ms)
    : TsSession(service, socket->peer_ip()), is_tcp_(true), limit_ms_(limit_ms), socket_(std::move(socket)) {}

GbSession::GbSession(Service& service, GbChannel& channel, const base::Endpoint& peer)
    : TsSession(service, peer.ip.text()),
      is_tcp_(false),
      limit_ms_(0),
      peer_(peer),
      channel_(&channel),
      ssrc_(channel.ssrc),
      heard_us_(runtime::now_us()) {
    channel.session = this;
    input_.emplace(true);
}

GbSession::~GbSession() {
    if (channel_) service().channels().release(ssrc_);
}

bool GbSession::start() {
    if (is_tcp_) service().sessions().admission().embryonic().add(*this, base::monotonic_ms());
    task_ = runtime::spawn("gb28181", [this] { run(); });
    return static_cast<bool>(task_);
}

// The top function of its coroutine.
void GbSession::run() {
    runtime::set_context_id(id());
    end_with(is_tcp_ ? serve_tcp() : serve_udp());
    service().remove(*this);
}

Result<void> GbSession::serve_tcp() {
    const Deadline limit = Deadline::in_ms(limit_ms_);
    while (!is_ending()) {
        auto read = read_once(channel_ ? Deadline::in_ms(kTickMs) : limit);
        if (!read && read.error().code() == Code::kTimeout && !channel_)
            return fail(Code::kTimeout, fmt::format("no packet of an announced SSRC within {} ms", limit_ms_));
        if (!read && read.error().code() != Code::kTimeout) return read;
        tick(runtime::now_us());
    }
    return {};
}

Result<void> GbSession::read_once(Deadline deadline) {
    const auto bytes = TRY(runtime::read_shared(*socket_, deadline));
    if (bytes.empty()) return fail(Code::kClosed, "closed by the peer");
    received_.insert(received_.end(), bytes.begin(), bytes.end());
    TRY(take_frames());
    return count_bytes(bytes.size());
}

// A frame is a packet behind its length. The gate may be asked meanwhile.
Result<void> GbSession::take_frames() {
    size_t at = 0;
    while (!is_ending() && received_.size() - at >= kFrameLength) {
        const size_t size = base::get_u16(received_.data() + at);
        if (size == 0) return fail(Code::kProtocol, "a frame without a packet: the length is 0");
        if (received_.size() - at < kFrameLength + size) break;
        const auto bytes = std::span<const uint8_t>(received_).subspan(at + kFrameLength, size);
        at += kFrameLength + size;
        ++frames_;
        if (GbInput::is_rtcp(bytes)) continue;
        const auto packet = rtp::PacketView::parse(bytes);
        if (!packet) return fail(Code::kProtocol, fmt::format("a frame of {} bytes is no RTP packet", size));
        TRY(take_packet(*packet));
    }
    received_.erase(received_.begin(), received_.begin() + static_cast<ptrdiff_t>(at));
    return {};
}

Result<void> GbSession::take_packet(const rtp::PacketView& packet) {
    if (!channel_) {
        GbChannel* channel = service().channels().find(packet.ssrc());
        if (!channel || channel->session) {
            ++caster_stats().gb_refused;
            return fail(channel ? CloseReason::kRefusedBusy : CloseReason::kNotFound,
                        fmt::format("SSRC {} {}", packet.ssrc(), channel ? "has a sender" : "was not announced"));
        }
        channel->session = this;
        channel_ = channel;
        ssrc_ = channel->ssrc;
        input_.emplace(false);
        leave_list();
        TRY(publish());
    }
    if (packet.ssrc() == ssrc_) input_->push(packet, runtime::now_us(), *this);
    return {};
}

Result<void> GbSession::serve_udp() {
    TRY(publish());
    while (!is_ending()) {
        if (auto slept = runtime::sleep_ms(kTickMs); !slept && !is_ending())
            return std::unexpected(std::move(slept).error());
        tick(runtime::now_us());
    }
    return {};
}

Result<void> GbSession::publish() {
    output_ = TRY(parse_output(channel_->output, {.stream = channel_->id}));
    const bool publishes =
        TRY(begin(gb_publish_type(), "GB28181 publisher", std::make_unique<convert::PsReader>(), socket_.get()));
    if (publishes)
        base::log::trace("GB28181 publish: {}, SSRC {}, by {}, from {}{}", stream_text(), ssrc_,
                         is_tcp_ ? "TCP" : "UDP", is_tcp_ ? socket_->peer_address() : peer_.text(),
                         publisher()->waits() ? ", as a standby" : "");
    return {};
}

void GbSession::tick(int64_t now_us) {
    if (is_ending() || !publisher() || now_us - ticked_us_ < kTickMs * 1000) return;
    ticked_us_ = now_us;
    input_->on_tick(now_us, *this);
    check_publisher(now_us);
}

void GbSession::on_packet(const rtp::PacketView& packet, int64_t now_us) {
    runtime::ContextScope scope(id());
    heard_us_ = now_us;
    if (is_ending()) return;
    input_->push(packet, now_us, *this);
    if (auto counted = count_bytes(packet.datagram().size()); !counted)
        close(counted.error().text(), CloseReason::kFlood);
}

void GbSession::continue_from(const base::Endpoint& peer) {
    base::log::trace("GB28181 publish: {}, from {} instead of {}", stream_text(), peer.text(), peer_.text());
    peer_ = peer;
    input_.emplace(true);
    skip_gap();
    ++caster_stats().sender_changes;
}

void GbSession::on_unit_end(int64_t now_us) {
    if (publisher()) publisher()->end_unit(now_us);
}

size_t GbSession::unfinished_input() const {
    return TsSession::unfinished_input() + received_.capacity() + (input_ ? input_->memory() : 0);
}

void GbSession::list_unfinished_input(std::vector<uint64_t>& parts) const {
    // Beside the numbers of packets, which have an index above 48 bits.
    constexpr uint64_t kFrames = uint64_t{1} << 63;
    if (!received_.empty()) parts.push_back(kFrames | frames_);
    TsSession::list_unfinished_input(parts);
}

void GbSession::evict() {
    not_a_connection();
    close("the server is full: it made room for another connection", CloseReason::kRefusedLimit);
}

bool GbSession::peer_alive() const { return is_tcp_ ? !socket_->peer_gone() : silent_us(runtime::now_us()) < kAliveUs; }

}  // namespace service::caster
