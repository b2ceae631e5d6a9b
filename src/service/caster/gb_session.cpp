#include "service/caster/gb_session.h"

#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "convert/ts/ps_reader.h"
#include "live/hub/options.h"
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

constexpr int64_t kGbTickMs = 100;
// One by UDP that was not heard of for this long gives way to a publisher of another protocol.
constexpr int64_t kGbAliveUs = 2'000'000;
// RFC 4571, 2.
constexpr size_t kFrameLength = 2;

}  // namespace

net::SessionType gb_publish_type() {
    static const net::SessionType kType = net::SessionType::add("gb28181-publish", true);
    return kType;
}

GbSession::GbSession(Service& service, std::unique_ptr<runtime::ByteStream> socket, int64_t limit_ms)
    : net::Session(service.sessions(), runtime::new_context_id(), socket->peer_ip()),
      service_(service),
      is_tcp_(true),
      limit_ms_(limit_ms),
      socket_(std::move(socket)) {}

GbSession::GbSession(Service& service, GbChannel& channel, const base::Endpoint& peer)
    : net::Session(service.sessions(), runtime::new_context_id(), peer.ip.text()),
      service_(service),
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
    if (channel_) service_.channels().release(ssrc_);
}

bool GbSession::start() {
    if (is_tcp_) service_.sessions().admission().embryonic().add(*this, base::monotonic_ms());
    task_ = runtime::spawn("gb28181", [this] { run(); });
    return static_cast<bool>(task_);
}

// The top function of its coroutine.
void GbSession::run() {
    runtime::set_context_id(id());
    auto served = is_tcp_ ? serve_tcp() : serve_udp();
    if (!served)
        finish(served.error().code() == Code::kCancelled ? "the server stops" : served.error().text(),
               served.error().close_reason());
    else
        finish(end_reason_, CloseReason::kUnknown);
    service_.remove(*this);
}

Result<void> GbSession::serve_tcp() {
    const Deadline limit = Deadline::in_ms(limit_ms_);
    while (end_reason_.empty()) {
        auto read = read_once(channel_ ? Deadline::in_ms(kGbTickMs) : limit);
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
    while (end_reason_.empty() && received_.size() - at >= kFrameLength) {
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
        GbChannel* channel = service_.channels().find(packet.ssrc());
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
        TRY(begin());
    }
    if (packet.ssrc() == ssrc_) input_->push(packet, runtime::now_us(), *this);
    return {};
}

Result<void> GbSession::serve_udp() {
    TRY(begin());
    while (end_reason_.empty()) {
        if (auto slept = runtime::sleep_ms(kGbTickMs); !slept && end_reason_.empty())
            return std::unexpected(std::move(slept).error());
        tick(runtime::now_us());
    }
    return {};
}

// Admits it, and publishes what came meanwhile. Yields.
Result<void> GbSession::begin() {
    output_ = TRY(parse_output(channel_->output, {.stream = channel_->id}));
    set_type(gb_publish_type());
    const config::SnapshotPtr snapshot = service_.snapshot();
    const config::Vhost* vhost = snapshot->vhost(output_.key.vhost);
    if (!vhost) return fail(CloseReason::kNotFound, fmt::format("no vhost {}", output_.key.vhost));
    const live::StreamKey key{vhost->name, output_.key.app, output_.key.name};
    auto stream = service_.registry().find_or_create(key, live::live_options(*vhost));
    // No guard is asked if the name is in use anyway.
    TRY(stream->check_free(vhost->publish.takeover, live::standby_options(*vhost)));
    grant_ = TRY(service_.gate().admit(visitor(key), *vhost, socket_.get()));
    if (!end_reason_.empty()) return {};
    stream_ = std::move(stream);
    const int64_t now_us = runtime::now_us();
    publisher_ = std::make_unique<relay::TsPublisher>(static_cast<relay::TsPublisherOwner&>(*this), "GB28181 publisher",
                                                      snapshot, *vhost, now_us, std::make_unique<convert::PsReader>());
    if (auto acquired = publisher_->acquire(*stream_); !acquired) {
        publisher_.reset();
        return acquired;
    }
    enter_stream(stream_->key(), true);
    ++caster_stats().publishers;
    base::log::trace("GB28181 publish: {}, SSRC {}, by {}, from {}{}", stream_text(), ssrc_, is_tcp_ ? "TCP" : "UDP",
                     is_tcp_ ? socket_->peer_address() : peer_.text(), publisher_->waits() ? ", as a standby" : "");
    publisher_->feed(std::exchange(early_, {}), now_us);
    return {};
}

net::Visitor GbSession::visitor(const live::StreamKey& key) const {
    net::Visitor visitor;
    visitor.action = net::Action::kPublish;
    visitor.type = gb_publish_type();
    visitor.id = id();
    visitor.ip = ip();
    visitor.vhost = key.vhost;
    visitor.app = key.app;
    visitor.stream = key.name;
    visitor.param = output_.params;
    visitor.tc_url = output_.tc_url;
    return visitor;
}

void GbSession::tick(int64_t now_us) {
    if (!end_reason_.empty() || !publisher_ || now_us - ticked_us_ < kGbTickMs * 1000) return;
    ticked_us_ = now_us;
    input_->on_tick(now_us, *this);
    publisher_->on_tick();
    if (const auto passed = publisher_->passed_limit(now_us, stream_.get())) will_end(passed->text, passed->reason);
}

void GbSession::on_packet(const rtp::PacketView& packet, int64_t now_us) {
    runtime::ContextScope scope(id());
    heard_us_ = now_us;
    if (!end_reason_.empty()) return;
    input_->push(packet, now_us, *this);
    if (auto counted = count_bytes(packet.datagram().size()); !counted)
        close(counted.error().text(), CloseReason::kFlood);
}

Result<void> GbSession::count_bytes(size_t bytes) {
    const uint64_t before = std::exchange(received_bytes_, received_bytes_ + bytes);
    if ((before ^ received_bytes_) / net::InputMemory::kFree == 0) return {};
    constexpr size_t kMuchInput = 1u << 20;
    if (publisher_ && unfinished_input() >= kMuchInput) publisher_->check_memory();
    return count_input();
}

void GbSession::continue_from(const base::Endpoint& peer) {
    base::log::trace("GB28181 publish: {}, from {} instead of {}", stream_text(), peer.text(), peer_.text());
    peer_ = peer;
    input_.emplace(true);
    on_gap();
    ++caster_stats().sender_changes;
}

void GbSession::on_stream_bytes(std::span<const uint8_t> bytes, int64_t now_us) {
    if (publisher_) return publisher_->feed(bytes, now_us);
    if (early_.size() + bytes.size() <= kMaxEarly) early_.insert(early_.end(), bytes.begin(), bytes.end());
}

void GbSession::on_gap() {
    if (publisher_) publisher_->on_gap();
}

void GbSession::on_unit_end(int64_t now_us) {
    if (publisher_) publisher_->end_unit(now_us);
}

size_t GbSession::unfinished_input() const {
    return received_.capacity() + early_.capacity() + (input_ ? input_->memory() : 0) +
           (publisher_ ? publisher_->unfinished_input() : 0);
}

void GbSession::list_unfinished_input(std::vector<uint64_t>& parts) const {
    // Beside the numbers of packets, which have an index above 48 bits.
    constexpr uint64_t kFrames = uint64_t{1} << 63;
    if (!received_.empty()) parts.push_back(kFrames | frames_);
    if (publisher_) publisher_->list_unfinished(parts);
}

void GbSession::drop_unfinished_input(std::string_view why) {
    if (!publisher_) return close(why, CloseReason::kFlood);
    publisher_->drop_unfinished();
}

// Only the first reason counts.
void GbSession::will_end(std::string_view why, CloseReason reason) {
    set_close_reason(reason);
    if (end_reason_.empty()) end_reason_ = why;
}

void GbSession::kick(std::string_view why) {
    runtime::ContextScope scope(id());
    will_end(why, close_reason() == CloseReason::kUnknown ? CloseReason::kKicked : close_reason());
    task_.cancel();
}

void GbSession::evict() {
    not_a_connection();
    close("the server is full: it made room for another connection", CloseReason::kRefusedLimit);
}

void GbSession::finish(std::string_view why, CloseReason reason) {
    set_close_reason(reason);
    if (publisher_) {
        publisher_->finish(runtime::now_us());
        --caster_stats().publishers;
    }
    publisher_.reset();
    grant_.end(traffic());
    if (channel_) service_.channels().release(ssrc_);
    channel_ = nullptr;
    log_end(end_reason_.empty() ? why : std::string_view(end_reason_), reason);
}

void GbSession::on_revoked(std::string_view why, CloseReason reason) {
    will_end(why, reason);
    task_.cancel();
}

bool GbSession::peer_alive() const {
    return is_tcp_ ? !socket_->peer_gone() : silent_us(runtime::now_us()) < kGbAliveUs;
}

live::PublisherFacts GbSession::publisher_facts() const {
    return {.session_id = id(), .ip = ip(), .tc_url = output_.tc_url, .params = output_.params};
}

}  // namespace service::caster
