#pragma once
// PlayerLayers: a player's video from another layer of simulcast than the one that the stream's lane carries: because
// its URL wants a smaller one, or because its link takes no more. Audio always comes from the stream's lane. A change
// is at a keyframe of the layer that follows; the viewer's sequence numbers and timestamps continue. A player that has
// neither a wish nor a short link has none of this.

#include <cstdint>
#include <memory>
#include <optional>

#include "live/rtp/rtp_layers.h"
#include "runtime/loop/timers.h"
#include "service/rtc/media.h"
#include "service/rtc/play/layer_probe.h"
#include "service/rtc/play/rtp_cursor.h"
#include "service/rtc/play/send_credit.h"
#include "service/rtc/stats.h"

namespace service::rtc {

class Player;
class SendTrack;

class PlayerLayers {
  public:
    // A larger layer is tried this long after the last change; if its link was too short for it, after half as long
    // again the next time, at most kMaxWaitMs.
    static constexpr int64_t kFirstWaitMs = 4'000, kMaxWaitMs = 64'000;
    // After a probe that failed, the layer is kept for so long at least.
    static constexpr int64_t kProbeRestMs = 4'000;

    // The player must outlive it.
    PlayerLayers(Player& player, LayerWish wish) : player_(player), wish_(std::move(wish)) {}
    ~PlayerLayers() { leave(); }

    // Begins to change to another layer, if another one is wanted now.
    void choose(int64_t now_ms);
    // The lane of the layer whose video the player is sent; null: the stream's.
    live::RtpLane* lane() const { return active_ ? &active_->lane : nullptr; }
    // Of that layer.
    std::string_view rid() const;
    // Another layer waits for its keyframe.
    bool is_changing() const { return next_ != nullptr; }
    // A larger one is about to be tried: choose() is called with each feedback.
    bool is_probing() const { return probe_ != nullptr; }
    int64_t changed_ms() const { return changed_ms_; }
    // What the link takes of that lane's video, and how much of it is earned. Null: it takes all.
    SendCredit* credit() { return pace_ ? &pace_->credit : nullptr; }
    uint32_t paced_kbps() const;
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
        std::optional<Counted> counted;  // while it is the active one
    };

    struct Probe final : runtime::Timer {
        Probe(PlayerLayers& by, const live::RtpLayer& of, uint32_t kbps, int64_t now_ms)
            : layers(by), to(of), probe(kbps, now_ms) {}
        void on_due() override { layers.send_probe(); }
        PlayerLayers& layers;
        const live::RtpLayer& to;
        LayerProbe probe;
        uint32_t report = 0;  // behind the last pulse
    };
    static constexpr int64_t kProbeEveryMs = 10;

    // A smaller layer begins on a link whose queue is full of the former one: what does not come at about the rate of
    // the link is lost. So it is paced, with its retransmissions, until the queue has gone.
    struct Pace final : runtime::Timer {
        Pace(PlayerLayers& by, int64_t now_us) : layers(by), credit(now_us), began_ms(now_us / 1000) {}
        void on_due() override { layers.send_paced(); }
        PlayerLayers& layers;
        SendCredit credit;
        int64_t began_ms;
    };
    static constexpr int64_t kPaceEveryMs = 10, kPaceMs = 1'000;

    // The bytes that retransmissions and audio need beside it.
    static constexpr uint32_t kAudioKbps = 64;

    const live::RtpLayer* active_layer() const;  // null: its video is the stream's
    uint32_t need_of(const live::RtpLayer& layer) const;
    bool fits(const live::RtpLayer& layer) const;
    uint64_t max_pixels(const live::RtpLayers& layers) const;
    const live::RtpLayer* best(const live::RtpLayers& layers) const;
    bool may_raise(const live::RtpLayer& from, const live::RtpLayer& to, int64_t now_ms);
    void send_probe();
    LayerProbe::Result probe_result(int64_t now_ms) const;
    void fail_probe(int64_t now_ms);
    void begin_pacing(int64_t now_us);
    void send_paced();
    void change_to(const live::RtpLayer* layer, int64_t now_ms);
    bool send(Feed& feed, int64_t now_us);
    void apply(Feed& feed, const RtpCursor::Change& change, int64_t now_ms);
    void activate_next();
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
    bool is_lowered_ = false;                 // the last change was to a smaller layer, for a short link
    int64_t changed_ms_ = INT64_MIN / 2, raised_ms_ = INT64_MIN / 2;
    int64_t wait_ms_ = kFirstWaitMs;
    std::unique_ptr<Probe> probe_;  // before a larger layer is tried
    std::unique_ptr<Pace> pace_;    // null: packets are sent when they come
};

}  // namespace service::rtc
