#include "service/caster/encoder.h"

#include <utility>

#include "base/log.h"
#include "live/hub/options.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"
#include "service/caster/service.h"
#include "service/caster/stats.h"
#include "service/caster/udp_port.h"

namespace service::caster {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr int64_t kEncoderTickMs = 100;
// One that was not heard of for this long gives way to a publisher of another protocol.
constexpr int64_t kAliveUs = 2'000'000;

}  // namespace

CasterStats& caster_stats() {
    static CasterStats stats;
    return stats;
}

net::SessionType udp_publish_type() {
    static const net::SessionType kType = net::SessionType::add("udp-publish", true);
    return kType;
}

Encoder::Encoder(Service& service, UdpPort& port, std::string output, const base::Endpoint& peer)
    : net::Session(service.sessions(), runtime::new_context_id(), peer.ip.text()),
      service_(service),
      port_(&port),
      output_url_(std::move(output)),
      peer_(peer),
      heard_us_(runtime::now_us()) {}

Encoder::~Encoder() {
    if (port_) port_->encoder_left(*this);
}

bool Encoder::start() {
    task_ = runtime::spawn("udp-publisher", [this] { run(); });
    return static_cast<bool>(task_);
}

// The top function of its coroutine.
void Encoder::run() {
    runtime::set_context_id(id());
    auto served = serve();
    if (!served)
        finish(served.error().code() == Code::kCancelled ? "the server stops" : served.error().text(),
               served.error().close_reason());
    else
        finish(end_reason_, CloseReason::kUnknown);
    service_.remove(*this);
}

Result<void> Encoder::serve() {
    TRY(begin());
    while (end_reason_.empty()) {
        if (auto slept = runtime::sleep_ms(kEncoderTickMs); !slept && end_reason_.empty())
            return std::unexpected(std::move(slept).error());
        tick(runtime::now_us());
    }
    return {};
}

// Admits it, and publishes what came meanwhile. Yields.
Result<void> Encoder::begin() {
    output_ = TRY(parse_output(output_url_));
    const config::SnapshotPtr snapshot = service_.snapshot();
    const config::Vhost* vhost = snapshot->vhost(output_.key.vhost);
    if (!vhost) return fail(CloseReason::kNotFound, fmt::format("no vhost has the stream {}", output_url_));
    const live::StreamKey key{vhost->name, output_.key.app, output_.key.name};
    auto stream = service_.registry().find_or_create(key, live::live_options(*vhost));
    // No guard is asked if the name is in use anyway.
    TRY(stream->check_free(vhost->publish.takeover, live::standby_options(*vhost)));
    grant_ = TRY(service_.gate().admit(visitor(key), *vhost));
    if (!end_reason_.empty()) return {};
    stream_ = std::move(stream);
    relay::TsPublisherOwner& owner = *this;
    const int64_t now_us = runtime::now_us();
    publisher_ = std::make_unique<relay::TsPublisher>(owner, "UDP publisher", snapshot, *vhost, now_us);
    if (auto acquired = publisher_->acquire(*stream_); !acquired) {
        publisher_.reset();
        return acquired;
    }
    set_type(udp_publish_type());
    enter_stream(stream_->key(), true);
    ++caster_stats().publishers;
    base::log::trace("UDP publish: {}, MPEG-TS{}, from {}{}", stream_text(), input_.uses_rtp() ? " in RTP" : "",
                     peer_.text(), publisher_->waits() ? ", as a standby" : "");
    publisher_->feed(std::exchange(early_, {}), now_us);
    return {};
}

net::Visitor Encoder::visitor(const live::StreamKey& key) const {
    net::Visitor visitor;
    visitor.action = net::Action::kPublish;
    visitor.type = udp_publish_type();
    visitor.id = id();
    visitor.ip = ip();
    visitor.vhost = key.vhost;
    visitor.app = key.app;
    visitor.stream = key.name;
    visitor.param = output_.params;
    visitor.tc_url = output_.tc_url;
    return visitor;
}

void Encoder::tick(int64_t now_us) {
    if (!end_reason_.empty()) return;
    input_.on_tick(now_us, *this);
    publisher_->on_tick();
    if (const auto passed = publisher_->passed_limit(now_us, stream_.get())) will_end(passed->text, passed->reason);
}

void Encoder::on_datagram(std::span<const uint8_t> datagram, int64_t now_us) {
    runtime::ContextScope scope(id());
    heard_us_ = now_us;
    const uint64_t before = std::exchange(received_bytes_, received_bytes_ + datagram.size());
    if (!end_reason_.empty()) return;
    input_.push(datagram, now_us, *this);
    if ((before ^ received_bytes_) / net::InputMemory::kFree == 0) return;
    if (auto counted = count_input(); !counted) return close(counted.error().text(), CloseReason::kFlood);
    constexpr size_t kMuch = 1u << 20;
    if (publisher_ && unfinished_input() >= kMuch) publisher_->check_memory();
}

void Encoder::continue_from(const base::Endpoint& peer) {
    base::log::trace("UDP publish: {}, from {} instead of {}", stream_text(), peer.text(), peer_.text());
    peer_ = peer;
    input_ = CellInput();
    on_gap();
    ++caster_stats().sender_changes;
}

void Encoder::on_cells(std::span<const uint8_t> bytes, int64_t now_us) {
    if (publisher_) return publisher_->feed(bytes, now_us);
    if (early_.size() + bytes.size() <= kMaxEarly) early_.insert(early_.end(), bytes.begin(), bytes.end());
}

void Encoder::on_gap() {
    if (publisher_) publisher_->on_gap();
}

size_t Encoder::unfinished_input() const {
    return early_.capacity() + input_.memory() + (publisher_ ? publisher_->unfinished_input() : 0);
}

void Encoder::list_unfinished_input(std::vector<uint64_t>& parts) const {
    if (publisher_) publisher_->list_unfinished(parts);
}

void Encoder::drop_unfinished_input(std::string_view why) {
    if (!publisher_) return close(why, CloseReason::kFlood);
    publisher_->drop_unfinished();
}

// Only the first reason counts.
void Encoder::will_end(std::string_view why, CloseReason reason) {
    set_close_reason(reason);
    if (end_reason_.empty()) end_reason_ = why;
}

void Encoder::kick(std::string_view why) {
    runtime::ContextScope scope(id());
    will_end(why, close_reason() == CloseReason::kUnknown ? CloseReason::kKicked : close_reason());
    task_.cancel();
}

void Encoder::finish(std::string_view why, CloseReason reason) {
    set_close_reason(reason);
    if (publisher_) {
        publisher_->finish(runtime::now_us());
        --caster_stats().publishers;
    } else if (port_) {
        port_->encoder_refused();
    }
    publisher_.reset();
    grant_.end(traffic());
    log_end(end_reason_.empty() ? why : std::string_view(end_reason_), reason);
}

void Encoder::on_revoked(std::string_view why, CloseReason reason) {
    will_end(why, reason);
    task_.cancel();
}

bool Encoder::peer_alive() const { return silent_us(runtime::now_us()) < kAliveUs; }

live::PublisherFacts Encoder::publisher_facts() const {
    return {.session_id = id(), .ip = ip(), .tc_url = output_.tc_url, .params = output_.params};
}

}  // namespace service::caster
