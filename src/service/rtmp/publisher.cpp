#include "service/rtmp/publisher.h"

#include <algorithm>
#include <utility>

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

void Publisher::after_read(int64_t now_us, size_t bytes) {
    publication_.was_read();
    note_rate(now_us, bytes);
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

void Publisher::note_rate(int64_t now_us, size_t bytes) {
    constexpr int64_t kShortestUs = 4000;  // what comes in two reads at once says nothing
    uncounted_bytes_ += bytes;
    const int64_t elapsed_us = now_us - last_read_us_;
    if (elapsed_us < kShortestUs) return;
    const int64_t rate = static_cast<int64_t>(std::exchange(uncounted_bytes_, 0)) * 1'000'000 / elapsed_us;
    last_read_us_ = now_us;
    bytes_per_s_ += (rate - bytes_per_s_) / 4;
}

bool Publisher::read_now() { return !vhost_->publish.mr && connection_.read_now(); }

int64_t Publisher::read_interval_ms() const {
    // The sender of a new connection needs acknowledgements, which come with the reads, to increase its rate.
    constexpr int64_t kStartUs = 2'000'000;
    // A read brings this much at most: half of what a sender may have in flight before its window has grown.
    constexpr int64_t kBytesPerRead = 32 * 1024, kSoonestMs = 5;
    // What is made of the frames at once, WebRTC's packets, waits the shorter time; recorders and segmenters tolerate
    // the longer one.
    constexpr int64_t kShortMs = 40, kLongMs = 160;
    if (vhost_->min_latency || !any_media_ || last_media_us_ - first_media_us_ < kStartUs) return 0;
    if (vhost_->publish.mr) return vhost_->publish.mr_latency;
    const int64_t merging_ms = vhost_->play.mw_latency;
    const live::Stream* stream = publication_.stream();
    int64_t interval_ms = std::min(merging_ms / 2, kLongMs);
    if (stream && stream->rtp_wanted()) {
        interval_ms = std::min(merging_ms / 8, kShortMs);
    } else if (stream && stream->idle_since_ms() == 0 && !stream->has_sinks()) {
        interval_ms = merging_ms;  // each pass over the viewers begins with a read
    }
    if (bytes_per_s_ == 0 || interval_ms <= kSoonestMs) return interval_ms;
    return std::clamp(kBytesPerRead * 1000 / bytes_per_s_, kSoonestMs, interval_ms);
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
