#pragma once
// LayerChoice: which layer of a publisher's simulcast (RFC 8853) its stream carries: the largest one that is living, by
// the pixels of its keyframes, then by its bitrate. Layers come and go with the sender's estimate of its bandwidth, and
// their order in the offer says nothing about their size. The stream changes to another layer only where a keyframe of
// it begins whose packets came in order. It stores no packets and sends nothing. Pure.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace service::rtc {

class LayerChoice {
  public:
    static constexpr size_t kMaxLayers = 3;
    // A layer without packets for this long is dead; with packets for kLivingMs, without such a pause, it is living.
    static constexpr int64_t kDeadMs = 1500;
    static constexpr int64_t kLivingMs = 2000;
    // For this long after the first layer began, a larger one is taken at its first keyframe: publishers that send all
    // layers from the start begin with any of them.
    static constexpr int64_t kStartMs = 2000;
    // A living layer is kept for at least this long.
    static constexpr int64_t kMinStayMs = 2000;
    static constexpr int64_t kKeyframeEveryMs = 1000;
    // Publishers that begin with the smallest have added the others by then, if they ever do.
    static constexpr int64_t kSettledMs = 10'000;

    // layers: 1 to kMaxLayers.
    explicit LayerChoice(size_t layers);

    struct Packet {
        uint16_t sequence = 0;
        uint32_t timestamp = 0;
        size_t bytes = 0;       // of payload; 0: padding, no sign of life
        bool keyframe = false;  // as in live::RtpHead
        uint64_t pixels = 0;    // of the video frame; 0: this packet does not say
    };
    enum class Step : uint8_t { kSkipped, kCarried, kBegins };
    // A packet of a layer, with its original sequence number. kBegins: from this packet on the layer is the one that is
    // carried.
    Step on_packet(size_t layer, const Packet& packet, int64_t now_ms);
    // The layer's sequence numbers continue elsewhere: another SSRC.
    void restart(size_t layer) { layers_[layer].has_packets = false; }
    // The layer is dead until its next packet.
    void on_bye(size_t layer) { layers_[layer].heard_ms = kNever; }
    // To be called every 100 ms or so. Returns the layer that a keyframe is to be requested of, if any.
    std::optional<size_t> on_tick(int64_t now_ms);

    // Whether it has sent anything within kDeadMs.
    bool is_sent(size_t layer, int64_t now_ms) const { return !is_dead(layer, now_ms); }
    // Whether it is living, and the one that is carried is larger and stays so.
    bool is_smaller(size_t layer, int64_t now_ms) const;
    // Whether all that are expected are living, or enough time has passed since the first one began.
    bool is_settled(int64_t now_ms) const;
    // Bytes per second, as last measured.
    uint64_t rate(size_t layer) const { return layers_[layer].rate; }

    // The layer that is carried; nothing: none has begun.
    std::optional<size_t> current() const { return current_; }
    // The layer that is to be carried from its next keyframe on; nothing: the current one is the best.
    std::optional<size_t> target() const { return target_; }

  private:
    static constexpr int64_t kNever = INT64_MIN / 2;
    struct Layer {
        int64_t heard_ms = kNever;  // the last packet
        int64_t since_ms = kNever;  // the first one after the last pause
        uint64_t pixels = 0;        // 0: not known
        uint64_t bytes = 0;         // since the last measurement
        uint64_t rate = 0;          // bytes per second
        // Of its newest frame: whether its packets came in order up to now, and a start was found in it.
        bool has_packets = false;
        bool in_order = false;
        bool begun = false;
        uint16_t sequence = 0;
        uint32_t timestamp = 0;
    };
    bool begins_keyframe(Layer& layer, const Packet& packet);
    bool is_wanted(size_t layer, int64_t now_ms) const;
    bool is_dead(size_t layer, int64_t now_ms) const { return now_ms - layers_[layer].heard_ms >= kDeadMs; }
    bool is_living(size_t layer, int64_t now_ms) const {
        return !is_dead(layer, now_ms) && now_ms - layers_[layer].since_ms >= kLivingMs;
    }
    static bool is_better(const Layer& a, const Layer& b);
    void measure_rates(int64_t now_ms);
    std::optional<size_t> choose(int64_t now_ms) const;

    std::array<Layer, kMaxLayers> layers_;
    size_t count_;
    std::optional<size_t> current_, target_;
    int64_t began_ms_ = kNever;    // the first layer that was carried
    int64_t changed_ms_ = kNever;  // the current one was begun
    int64_t asked_ms_ = kNever;    // a keyframe was requested
    int64_t measured_ms_ = kNever;
};

}  // namespace service::rtc
