#include "service/rtmp/publisher.h"

#include "base/log.h"
#include "protocol/flv/metadata.h"
#include "service/rtmp/connection.h"

namespace service::rtmp {

Publisher::Publisher(Connection& connection, uint32_t stream_id, config::SnapshotPtr snapshot,
                     const config::Vhost& vhost, int64_t now_us)
    : connection_(connection),
      stream_id_(stream_id),
      snapshot_(std::move(snapshot)),
      vhost_(&vhost),
      last_media_us_(now_us) {}

Publisher::~Publisher() { watch_.cancel(); }

base::Result<void> Publisher::acquire(live::Stream& stream) {
    publication_ = TRY(stream.acquire(*this, vhost_->publish.takeover));
    noted_jumps_ = stream.counters().timeline_jumps;
    return {};
}

base::Result<void> Publisher::on_media(::rtmp::Message& message) {
    new_media_ = true;
    auto parsed = TRY(parser_.parse(message.type, message.payload, message.timestamp));
    if (parsed.frame) {
        publish(std::move(*parsed.frame));
        for (media::Frame& frame : parsed.more) publish(std::move(frame));
    } else if (parsed.nothing != noted_nothing_) {
        noted_nothing_ = parsed.nothing;
        base::log::info("RTMP publish: ignored: {}", parsed.nothing);
    }
    return {};
}

void Publisher::publish(media::Frame frame) {
    if (frame.sequence_header) {
        // It is kept, and would keep the memory of the frames read with it.
        frame.payload = base::Slice::copy(frame.payload);
        if (flv::is_metadata(frame)) {
            if (flv::says_absolute_times(frame)) publication_.has_absolute_times();
            if (auto names = flv::track_names(frame); !names.empty()) publication_.describe_tracks(std::move(names));
        }
    }
    publication_.publish(std::move(frame));
}

void Publisher::after_read(int64_t now_us) {
    if (!new_media_) return;
    new_media_ = false;
    if (!any_media_) first_media_us_ = now_us;
    any_media_ = true;
    last_media_us_ = now_us;
    live::Stream* stream = publication_.stream();
    if (!stream) return;
    uint64_t jumps = stream->counters().timeline_jumps;
    if (jumps == noted_jumps_ || now_us < last_note_us_ + snapshot_->global.pithy_print_ms * 1000LL) return;
    last_note_us_ = now_us;
    base::log::warn("RTMP publish: the timestamps of {} jumped {} times; its timeline continues without the jumps",
                    stream->key().text(), jumps - noted_jumps_);
    noted_jumps_ = jumps;
}

std::string Publisher::timeout_text() const {
    if (!any_media_) return fmt::format("no audio or video within {} ms of publish (firstpkt_timeout)", timeout_ms());
    return fmt::format("no audio or video for {} ms (normal_timeout)", timeout_ms());
}

std::string Publisher::idle_text(int64_t now_us) const {
    int seconds = vhost_->publish.kickoff_for_idle;
    if (seconds <= 0 || !publication_.stream()) return {};
    int64_t since_ms = publication_.stream()->idle_since_ms();
    if (since_ms == 0 || now_us / 1000 - since_ms < seconds * 1000LL) return {};
    return fmt::format("no viewer for {} s (kickoff_for_idle)", seconds);
}

int64_t Publisher::read_interval_ms() const {
    // The sender of a new connection needs acknowledgements, which come with the reads, to increase its rate.
    constexpr int64_t kStartUs = 2'000'000;
    // The players' merging of writes hides this delay; recorders and segmenters tolerate four times as much.
    constexpr int kShareOfMerging = 8, kLongestMs = 40, kAlone = 4;
    if (vhost_->min_latency || !any_media_ || last_media_us_ - first_media_us_ < kStartUs) return 0;
    if (vhost_->publish.mr) return vhost_->publish.mr_latency;
    const bool alone = publication_.stream() && publication_.stream()->idle_since_ms() != 0;
    return std::min(vhost_->play.mw_latency / kShareOfMerging, kLongestMs) * (alone ? kAlone : 1);
}

void Publisher::watch() {
    constexpr int64_t kIntervalMs = 200;
    if (watch_ && !watch_.done()) return;
    watch_ = runtime::spawn("rtmp-watch", [this] {
        // Cancellation is the only notice of the publisher's end.
        while (runtime::sleep_ms(kIntervalMs) && !runtime::cancelled())
            if (deadline().passed() && !connection_.asking()) return connection_.on_timeout(timeout_text());
    });
}

live::PublisherFacts Publisher::facts() const { return connection_.publisher_facts(); }

bool Publisher::publisher_alive() const { return connection_.peer_alive(); }

void Publisher::publication_revoked(std::string_view why, base::CloseReason reason) {
    connection_.on_revoked(stream_id_, why, reason);
}

}  // namespace service::rtmp
