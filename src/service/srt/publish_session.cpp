#include "service/srt/publish_session.h"

#include "runtime/loop/clock.h"
#include "service/srt/config.h"

namespace service::srt {

net::SessionType srt_publish_type() {
    static const net::SessionType kType = net::SessionType::add("srt-publish", true);
    return kType;
}

PublishSession::PublishSession(SessionHost& host, net::SessionTable& table, AdmittedCaller caller, Stats& stats)
    : Session(host, table, srt_publish_type(), true, caller),
      stats_(stats),
      input_(static_cast<relay::SrtChannelOwner&>(*this), caller.peer, caller.agreement, caller.keys,
             static_cast<::srt::DataSink&>(*this), snapshot()->get<ServerConfig>().peer_idle_timeout) {
    set_channel(input_);
    publisher_.emplace(static_cast<relay::TsPublisherOwner&>(*this), "SRT publisher", snapshot(), vhost(),
                       runtime::now_us());
}

base::Result<void> PublishSession::acquire() { return publisher_->acquire(stream()); }

size_t PublishSession::unfinished_input() const {
    return (publisher_ ? publisher_->unfinished_input() : 0) + input_.receiver().buffered_bytes();
}

void PublishSession::list_unfinished_input(std::vector<uint64_t>& parts) const {
    if (publisher_) publisher_->list_unfinished(parts);
}

void PublishSession::drop_unfinished_input(std::string_view) {
    if (publisher_) publisher_->drop_unfinished();
}

net::SessionFigures PublishSession::figures() const {
    const net::SessionFigures link = Session::figures();
    if (!publisher_) return link;
    net::SessionFigures figures = publisher_->figures();
    figures.lost = link.lost;
    figures.retransmitted = link.retransmitted;
    figures.dropped += link.dropped;
    return figures;
}

void PublishSession::on_message(const Message& message) {
    if (!publisher_) return;
    if (message.skipped > 0) publisher_->on_gap();
    publisher_->feed(message.bytes, runtime::event_us());
}

void PublishSession::on_channel_second(int64_t now_us) {
    record_stats();
    publisher_->on_tick();
    if (const auto passed = publisher_->passed_limit(now_us, &stream())) return end(passed->text, passed->reason);
    if (auto counted = count_input(); !counted) end(counted.error().text(), counted.error().close_reason());
}

void PublishSession::on_close() {
    record_stats();
    if (!publisher_) return;
    publisher_->finish(runtime::now_us());
    publisher_.reset();
}

live::PublisherFacts PublishSession::publisher_facts() const {
    return {.session_id = id(), .ip = ip(), .tc_url = tc_url(), .params = params(), .forward_path = path()};
}

void PublishSession::record_stats() {
    const ::srt::Receiver::Counters& now = input_.receiver().counters();
    stats_.received += now.packets - recorded_.packets;
    stats_.lost += now.lost - recorded_.lost;
    stats_.recovered += now.recovered - recorded_.recovered;
    stats_.skipped += now.skipped - recorded_.skipped;
    recorded_ = now;
}

}  // namespace service::srt
