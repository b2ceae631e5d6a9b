#include "service/rtc/publish/layer_choice.h"

#include "base/result.h"

namespace service::rtc {

namespace {

// A packet further back than this is not late: the sender has begun other sequence numbers.
constexpr uint16_t kMaxBack = 3000;
constexpr int64_t kMeasureEveryMs = 1000;

}  // namespace

LayerChoice::LayerChoice(size_t layers) : count_(layers) { CHECK(layers >= 1 && layers <= kMaxLayers); }

// Whether this packet is the first one of a keyframe, and no earlier packet of its frame is missing: parameter sets may
// precede it.
bool LayerChoice::begins_keyframe(Layer& layer, const Packet& packet) {
    const auto step = static_cast<uint16_t>(packet.sequence - layer.sequence);
    const bool first = !layer.has_packets;
    if (!first && (step == 0 || step > UINT16_MAX - kMaxBack)) return false;  // late
    const bool same_frame = !first && packet.timestamp == layer.timestamp;
    layer.in_order = (first || step == 1) && (!same_frame || layer.in_order);
    layer.begun = same_frame && layer.begun;
    layer.has_packets = true;
    layer.sequence = packet.sequence;
    layer.timestamp = packet.timestamp;
    if (!packet.keyframe || layer.begun) return false;
    layer.begun = true;
    return layer.in_order;
}

LayerChoice::Step LayerChoice::on_packet(size_t index, const Packet& packet, int64_t now_ms) {
    Layer& layer = layers_[index];
    const bool begins = begins_keyframe(layer, packet);
    const bool is_current = current_ == index;
    if (packet.bytes > 0) {
        if (is_dead(index, now_ms)) layer.since_ms = now_ms;
        layer.heard_ms = now_ms;
        layer.bytes += packet.bytes;
        if (packet.pixels > 0) layer.pixels = packet.pixels;
    }
    if (is_current) return Step::kCarried;
    if (!begins || !is_wanted(index, now_ms)) return Step::kSkipped;
    if (!current_) began_ms_ = now_ms;
    changed_ms_ = now_ms;
    current_ = index;
    target_.reset();
    return Step::kBegins;
}

bool LayerChoice::is_wanted(size_t index, int64_t now_ms) const {
    if (!current_ || target_ == index) return true;
    const Layer &layer = layers_[index], &carried = layers_[*current_];
    return now_ms - began_ms_ < kStartMs && layer.pixels > carried.pixels && carried.pixels > 0;
}

bool LayerChoice::is_better(const Layer& a, const Layer& b) {
    if (a.pixels != b.pixels && a.pixels > 0 && b.pixels > 0) return a.pixels > b.pixels;
    return a.rate > b.rate + b.rate / 4;
}

void LayerChoice::measure_rates(int64_t now_ms) {
    const int64_t ms = now_ms - measured_ms_;
    if (ms < kMeasureEveryMs) return;
    for (Layer& layer : layers_) {
        layer.rate = layer.bytes * 1000 / static_cast<uint64_t>(ms);
        layer.bytes = 0;
    }
    measured_ms_ = now_ms;
}

std::optional<size_t> LayerChoice::choose(int64_t now_ms) const {
    const bool needs_one = !current_ || is_dead(*current_, now_ms);
    if (!needs_one && now_ms - changed_ms_ < kMinStayMs) return std::nullopt;
    std::optional<size_t> best = needs_one ? std::nullopt : current_;
    for (size_t i = 0; i < count_; ++i) {
        if (i == current_ || is_dead(i, now_ms)) continue;
        if (!needs_one && !is_living(i, now_ms)) continue;
        if (!best || is_better(layers_[i], layers_[*best])) best = i;
    }
    return best == current_ ? std::nullopt : best;
}

bool LayerChoice::is_smaller(size_t layer, int64_t now_ms) const {
    if (!current_ || target_ || current_ == layer || is_dead(*current_, now_ms)) return false;
    return is_living(layer, now_ms) && is_better(layers_[*current_], layers_[layer]);
}

bool LayerChoice::is_settled(int64_t now_ms) const {
    if (!current_) return false;
    size_t living = 0;
    for (size_t i = 0; i < count_; ++i) living += is_living(i, now_ms);
    return living == count_ || now_ms - began_ms_ >= kSettledMs;
}

std::optional<size_t> LayerChoice::on_tick(int64_t now_ms) {
    measure_rates(now_ms);
    target_ = choose(now_ms);
    if (!target_ || now_ms - asked_ms_ < kKeyframeEveryMs) return std::nullopt;
    asked_ms_ = now_ms;
    return target_;
}

}  // namespace service::rtc
