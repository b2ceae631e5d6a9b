#include "service/caster/caster_session.h"

#include <utility>

#include "live/hub/options.h"
#include "runtime/loop/clock.h"
#include "service/caster/service.h"
#include "service/caster/stats.h"

namespace service::caster {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;

CasterStats& caster_stats() {
    static CasterStats stats;
    return stats;
}

// ---- CasterSession

CasterSession::CasterSession(Service& service, std::string_view peer_ip)
    : net::Session(service.sessions(), runtime::new_context_id(), peer_ip), service_(service) {}

Result<CasterSession::Admitted> CasterSession::admit(net::SessionType type, std::string client_ip,
                                                     runtime::ByteStream* connection) {
    const config::SnapshotPtr snapshot = service_.snapshot();
    const config::Vhost* vhost = snapshot->vhost(output_.key.vhost);
    if (!vhost) return fail(CloseReason::kNotFound, fmt::format("no vhost {}", output_.key.vhost));
    const live::StreamKey key{vhost->name, output_.key.app, output_.key.name};
    auto stream = service_.registry().find_or_create(key, live::live_options(*vhost));
    // No guard is asked if the name is in use anyway.
    TRY(stream->check_free(vhost->publish.takeover, live::standby_options(*vhost)));
    grant_ = TRY(service_.gate().admit(visitor(type, std::move(client_ip), key), *vhost, connection));
    return Admitted{snapshot, vhost, std::move(stream)};
}

net::Visitor CasterSession::visitor(net::SessionType type, std::string client_ip, const live::StreamKey& key) const {
    net::Visitor visitor;
    visitor.action = net::Action::kPublish;
    visitor.type = type;
    visitor.id = id();
    visitor.ip = std::move(client_ip);
    visitor.vhost = key.vhost;
    visitor.app = key.app;
    visitor.stream = key.name;
    visitor.param = output_.params;
    visitor.tc_url = output_.tc_url;
    return visitor;
}

void CasterSession::enter(base::Ref<live::Stream> stream) {
    stream_ = std::move(stream);
    enter_stream(stream_->key(), true);
    ++caster_stats().publishers;
}

void CasterSession::will_end(std::string_view why, CloseReason reason) {
    set_close_reason(reason);
    if (end_reason_.empty()) end_reason_ = why;
}

void CasterSession::kick(std::string_view why) {
    runtime::ContextScope scope(id());
    will_end(why, close_reason() == CloseReason::kUnknown ? CloseReason::kKicked : close_reason());
    task_.cancel();
}

void CasterSession::log_and_leave(std::string_view why, CloseReason reason) {
    set_close_reason(reason);
    if (stream_) --caster_stats().publishers;
    grant_.end(traffic());
    log_end(why, reason);
}

live::PublisherFacts CasterSession::facts_of_publisher() const {
    return {.session_id = id(), .ip = ip(), .tc_url = output_.tc_url, .params = output_.params};
}

// ---- TsSession

Result<bool> TsSession::begin(net::SessionType type, std::string_view name, std::unique_ptr<convert::PesReader> reader,
                              runtime::ByteStream* connection) {
    set_type(type);
    Admitted admitted = TRY(admit(type, ip(), connection));
    if (is_ending()) return false;
    const int64_t now_us = runtime::now_us();
    publisher_ = std::make_unique<relay::TsPublisher>(static_cast<relay::TsPublisherOwner&>(*this), name,
                                                      admitted.snapshot, *admitted.vhost, now_us, std::move(reader));
    if (auto acquired = publisher_->acquire(*admitted.stream); !acquired) {
        publisher_.reset();
        return std::unexpected(std::move(acquired).error());
    }
    enter(std::move(admitted.stream));
    publisher_->feed(std::exchange(early_, {}), now_us);
    return true;
}

void TsSession::feed(std::span<const uint8_t> bytes, int64_t now_us) {
    if (publisher_) return publisher_->feed(bytes, now_us);
    if (early_.size() + bytes.size() <= kMaxEarly) early_.insert(early_.end(), bytes.begin(), bytes.end());
}

void TsSession::skip_gap() {
    if (publisher_) publisher_->on_gap();
}

void TsSession::check_publisher(int64_t now_us) {
    publisher_->on_tick();
    if (const auto passed = publisher_->passed_limit(now_us, stream_.get())) will_end(passed->text, passed->reason);
}

Result<void> TsSession::count_bytes(size_t bytes) {
    const uint64_t before = std::exchange(received_bytes_, received_bytes_ + bytes);
    if ((before ^ received_bytes_) / net::InputMemory::kFree == 0) return {};
    constexpr size_t kMuchInput = 1u << 20;
    if (publisher_ && unfinished_input() >= kMuchInput) publisher_->check_memory();
    return count_input();
}

size_t TsSession::unfinished_input() const {
    return early_.capacity() + (publisher_ ? publisher_->unfinished_input() : 0);
}

void TsSession::list_unfinished_input(std::vector<uint64_t>& parts) const {
    if (publisher_) publisher_->list_unfinished(parts);
}

void TsSession::drop_unfinished_input(std::string_view why) {
    if (!publisher_) return close(why, CloseReason::kFlood);
    publisher_->drop_unfinished();
}

void TsSession::end_with(const Result<void>& served) {
    if (!served)
        finish(served.error().code() == Code::kCancelled ? "the server stops" : served.error().text(),
               served.error().close_reason());
    else
        finish(end_reason(), CloseReason::kUnknown);
}

void TsSession::finish(std::string_view why, CloseReason reason) {
    if (publisher_) {
        publisher_->finish(runtime::now_us());
        keep_figures();
    }
    publisher_.reset();
    log_and_leave(is_ending() ? std::string_view(end_reason()) : why, reason);
}

void TsSession::on_revoked(std::string_view why, CloseReason reason) {
    will_end(why, reason);
    task_.cancel();
}

}  // namespace service::caster
