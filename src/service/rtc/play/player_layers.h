#pragma once
// PlayerLayers: a player's video from another layer of simulcast than the one that the stream's lane carries: because
// its URL wants a smaller one, or because its link takes no more. Audio always comes from the stream's lane. A change
// is at a keyframe of the layer that follows; the viewer's sequence numbers and timestamps continue. A player that has
// neither a wish nor a short link has none of this.

#include <cstdint>
#include <memory>
#include <optional>

#include "live/rtp/rtp_layers.h"
#include "service/rtc/media.h"
#include "service/rtc/play/rtp_cursor.h"

namespace service::rtc {

class Player;
class SendTrack;

class PlayerLayers {
  public:
    // A larger layer is tried this long after the last change; if its link was too short for it, after twice as long
    // the next time, at most kMaxWaitMs.
    static constexpr int64_t kFirstWaitMs = 4'000, kMaxWaitMs = 64'000;

    // The player must outlive it.
    PlayerLayers(Player& player, LayerWish wish) : player_(player), wish_(std::move(wish)) {}
    ~PlayerLayers() { leave(); }

    // Begins to change to another layer, if another one is wanted now.
    void choose(int64_t now_ms);
    // The lane of the layer whose video the player is sent; null: the stream's.
    live::RtpLane* lane() const { return active_ ? &active_->lane : nullptr; }
    // The video is skipped up to the next keyframe. Only if lane().
    void jump(int64_t now_ms);
    // The stream's own video begins again, at that position of its ring.
    void return_to_stream(const live::RtpPacket& first);
    // The layers are about to be destroyed, or the player is.
    void leave();

  private:
    struct Feed final : live::RtpSink {
        Feed(PlayerLayers& to, live::RtpLane& from);
        ~Feed();
        bool on_packets(int64_t now_us) override { return layers.send(*this, now_us); }
        void prefetch_needs() const override;
        void on_track_restart(size_t) override { layers.restart(*this); }
        PlayerLayers& layers;
        live::RtpLane& lane;
        RtpCursor cursor;
    };

    // The bytes that retransmissions and audio need beside it.
    static constexpr uint32_t kAudioKbps = 64;

    bool fits(const live::RtpLayer& layer) const;
    uint64_t max_pixels(const live::RtpLayers& layers) const;
    const live::RtpLayer* best(const live::RtpLayers& layers) const;
    void change_to(const live::RtpLayer* layer, int64_t now_ms);
    bool send(Feed& feed, int64_t now_us);
    void apply(Feed& feed, const RtpCursor::Change& change, int64_t now_ms);
    void take_over(Feed& feed, uint64_t first_sequence);
    void restart(Feed& feed);
    std::optional<uint32_t> newest_timestamp() const;
    void continue_at(uint32_t timestamp, uint32_t add, std::optional<uint32_t> newest);
    SendTrack& video() const;

    Player& player_;
    LayerWish wish_;
    const live::RtpLayer* target_ = nullptr;  // null: the stream's lane
    std::unique_ptr<Feed> active_;            // null: the video is the stream's
    std::unique_ptr<Feed> next_;              // waits for its keyframe
    bool is_new_ = false;                     // the active one has not begun
    int64_t changed_ms_ = INT64_MIN / 2, raised_ms_ = INT64_MIN / 2;
    int64_t wait_ms_ = kFirstWaitMs;
};

}  // namespace service::rtc
