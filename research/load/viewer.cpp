#include "load/viewer.h"

#include <algorithm>

namespace load {

void Viewer::begin_window(int64_t now_us) {
    window_bytes_ = 0;
    longest_gap_us_ = 0;
    if (last_arrival_us_ == 0) last_arrival_us_ = now_us;
}

void Viewer::note_gap(int64_t now_us) {
    if (last_arrival_us_) longest_gap_us_ = std::max(longest_gap_us_, now_us - last_arrival_us_);
}

void Viewer::on_bytes(size_t count) {
    note_gap(arrival_us());
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
