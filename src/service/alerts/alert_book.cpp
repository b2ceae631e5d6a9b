#include "service/alerts/alert_book.h"

#include <algorithm>

namespace service::alerts {

void AlertBook::look(const std::vector<Finding>& findings, int64_t now_ms, int64_t wall_ms, const Change& change) {
    ++looks_;
    for (const Finding& finding : findings) {
        Key key{finding.kind, finding.stream, finding.about};
        auto at = entries_.find(key);
        if (at == entries_.end()) {
            const bool is_of_stream = !finding.stream.name.empty();
            if (is_of_stream && of_streams_ >= kMaxLasting) {
                ++left_out_;
                continue;
            }
            of_streams_ += is_of_stream;
            Entry entry{.alert = {.kind = finding.kind, .stream = finding.stream, .about = finding.about},
                        .found_ms = now_ms};
            at = entries_.emplace(std::move(key), std::move(entry)).first;
        }
        Entry& entry = at->second;
        entry.look = looks_;
        entry.alert.text = finding.text;
        entry.alert.figure = finding.figure;
        const int64_t hold_ms = finding.kind == AlertKind::kKeyframeInterval ? kHoldMs : 0;
        if (entry.is_raised || now_ms - entry.found_ms < hold_ms) continue;
        entry.is_raised = true;
        entry.alert.raised_ms = wall_ms;
        change(entry.alert);
    }
    for (auto at = entries_.begin(); at != entries_.end();) {
        Entry& entry = at->second;
        if (entry.look == looks_) {
            ++at;
            continue;
        }
        if (entry.is_raised) {
            // The clock may have been set back meanwhile.
            entry.alert.cleared_ms = std::max(wall_ms, entry.alert.raised_ms + 1);
            change(entry.alert);
            ended_.push_front(std::move(entry.alert));
            if (ended_.size() > kMaxEnded) ended_.pop_back();
        }
        of_streams_ -= !std::get<live::StreamKey>(at->first).name.empty();
        at = entries_.erase(at);
    }
}

std::vector<const Alert*> AlertBook::lasting() const {
    std::vector<const Alert*> found;
    for (const auto& [key, entry] : entries_)
        if (entry.is_raised) found.push_back(&entry.alert);
    std::ranges::sort(found, [](const Alert* a, const Alert* b) {
        return std::tie(b->raised_ms, a->kind, a->stream, a->about) <
               std::tie(a->raised_ms, b->kind, b->stream, b->about);
    });
    return found;
}

uint64_t Growth::add(uint64_t value, int64_t now_ms) {
    samples_.push_back({now_ms, value});
    // One that is just outside is the beginning of the window.
    while (samples_.size() > 1 && samples_[1].at_ms <= now_ms - kWindowMs) samples_.pop_front();
    return value - std::min(value, samples_.front().value);
}

}  // namespace service::alerts
