#include "load/viewer.h"

#include <algorithm>

namespace load {

// A floor sends to whoever sends to it; the datagram says the track.
base::Result<void> Viewer::prepare(DialogOptions& options, runtime::Deadline) {
    if (!receiver_) return {};
    ports_ = TRY(DatagramPorts::open(*receiver_, kUdpTracks, *this));
    options.client_ports = ports_->numbers();
    if (target().scheme != Scheme::kUdp) return {};
    for (uint8_t track = 0; track < kUdpTracks; ++track)
        TRY(ports_->send(track, std::span(&track, 1), target().host, target().port));
    return {};
}

void Viewer::on_rtp_packet(int missing) {
    ++ledger().rtp_packets;
    ledger().rtp_lost += missing;
}

void Viewer::begin_window(int64_t now_us) {
    window_bytes_ = 0;
    longest_gap_us_ = 0;
    if (last_arrival_us_ == 0) last_arrival_us_ = now_us;
}

void Viewer::record_gap(int64_t now_us) {
    if (last_arrival_us_) longest_gap_us_ = std::max(longest_gap_us_, now_us - last_arrival_us_);
}

void Viewer::on_bytes(size_t count) {
    record_gap(arrival_us());
    last_arrival_us_ = arrival_us();
    window_bytes_ += count;
}

void Viewer::on_media_message(const MediaMessage& message) {
    ++ledger().messages;
    if (first_frame_us_ < 0 && message.is_frame()) {
        first_frame_us_ = arrival_us() - begun_us();
        ledger().first_frame_us.add(first_frame_us_);
    }
    if (message.is_frame()) continuity_.on_frame(message.type, message.head);
    if (observer_) observer_->on_viewer_message(*this, message, arrival_us());
}

}  // namespace load
