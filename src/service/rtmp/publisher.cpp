#include "service/rtmp/publisher.h"

#include <utility>

#include "base/log.h"
#include "runtime/loop/limited_log.h"
#include "service/rtmp/connection.h"

namespace service::rtmp {

Publisher::Publisher(Connection& connection, config::SnapshotPtr snapshot, const config::Vhost& vhost, int64_t now_us)
    : connection_(connection), snapshot_(std::move(snapshot)), vhost_(&vhost), limits_(vhost.publish, now_us) {}

base::Result<void> Publisher::acquire(live::Stream& stream) {
    publication_ = TRY(stream.acquire(*this, vhost_->publish.takeover));
    reset_jumps();
    return {};
}

void Publisher::on_media(::rtmp::Message& message) {
    auto parsed = bodies_.parse(message.type, message.payload, message.timestamp);
    if (!parsed) return;
    // Bodies without a frame count as a sign of life, but not as the first one.
    new_media_ |= limits_.has_media() || parsed->frame;
    convert::BodyPublisher::publish(publication_, *std::move(parsed));
}

void Publisher::after_read(int64_t now_us, size_t bytes) {
    read_interval_.record_read(now_us, bytes);
    if (!new_media_) return;
    new_media_ = false;
    limits_.on_media(now_us);
    read_interval_.record_media(now_us);
    live::Stream* stream = publication_.stream();
    if (!stream || publication_.waits()) return;
    uint64_t jumps = stream->counters().timeline_jumps;
    if (jumps == reported_jumps_ || now_us < jumps_reported_us_ + snapshot_->global.pithy_print_ms * 1000LL) return;
    jumps_reported_us_ = now_us;
    runtime::warn_limited(
        "RTMP publish: the timestamps of {} jumped {} times; its timeline continues without the jumps",
        stream->key().text(), jumps - reported_jumps_);
    reported_jumps_ = jumps;
}

bool Publisher::merges_reads() const { return vhost_->publish.mr && !vhost_->min_latency; }

bool Publisher::read_now() { return !merges_reads() && connection_.read_now(); }

int64_t Publisher::read_interval_ms() const {
    if (merges_reads()) return read_interval_.starts() ? 0 : vhost_->publish.mr_latency;
    const live::Stream* stream = publication_.stream();
    return stream ? read_interval_.ms(*stream, {vhost_->play.mw_latency, vhost_->min_latency}) : 0;
}

live::PublisherFacts Publisher::facts() const { return connection_.publisher_facts(); }

size_t Publisher::unfinished_input() const { return connection_.unfinished_input(); }

void Publisher::check_memory() {
    if (live::Stream* stream = publication_.stream()) stream->check_memory();
}

bool Publisher::publisher_alive() const { return connection_.peer_alive(); }

void Publisher::publication_revoked(std::string_view why, base::CloseReason reason) {
    connection_.on_revoked(why, reason);
}

}  // namespace service::rtmp
