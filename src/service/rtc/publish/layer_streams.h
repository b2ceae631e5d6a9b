#pragma once
// LayerStreams: layers of a publisher's simulcast as streams of their own (layers_as_streams), "stream@rid", with the
// publisher's audio. A layer becomes one when it is living (layer_choice.h) and the stream carries a larger one, and at
// the begin not before all layers are living: variants of HLS have to begin alike, and each change of the stream's
// layer is a discontinuity in it. It is published until it is dead, and again when it has returned. The streams are the
// publisher's session's: the gate is not asked for them, and they end with its publication. A name that another
// publisher has is left to it. What nobody reads is not kept.
//
// Nothing here yields.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "convert/rtp/from_rtp.h"
#include "live/hub/registry.h"
#include "runtime/loop/log_limit.h"
#include "service/rtc/config.h"
#include "service/rtc/publish/layer_choice.h"
#include "service/rtc/publish/receive_track.h"

namespace service::rtc {

// What the streams of layers need from their publisher. Must not yield.
class LayerSource {
  public:
    virtual void make_keyframe_of(size_t layer) = 0;
    // Since when a packet is requested of a layer, or of the audio with that index in the lane, in ms of the loop's
    // clock.
    virtual std::optional<int64_t> missing_since_ms(size_t layer, size_t lane_index) const = 0;
    // The newest sender report of the same.
    virtual std::optional<ReceiveTrack::Report> sender_report(size_t layer, size_t lane_index) const = 0;
    // The session has to end.
    virtual void end(std::string_view why, base::CloseReason reason) = 0;

  protected:
    ~LayerSource() = default;
};

class LayerStreams {
  public:
    struct Setup {
        const config::Vhost& vhost;
        live::Registry& registry;
        runtime::LogLimit& log;
        live::StreamKey stream;
        live::PublisherFacts facts;
        std::vector<live::RtpTrack> tracks;  // of each lane: video first, then audio
        std::vector<std::string> rids;
    };
    // source, and what setup refers to, must outlive it.
    LayerStreams(Setup setup, LayerSource& source);
    ~LayerStreams();

    // A packet of a layer, with the publisher's numbers. info: of a keyframe, where it is known.
    void append(size_t layer, const live::RtpHead& head, std::span<const uint8_t> payload, const media::VideoInfo* info,
                int64_t now_us);
    // A packet of audio, by its index in the lane.
    void append_audio(size_t lane_index, const live::RtpHead& head, std::span<const uint8_t> payload, int64_t now_us);
    void on_sender_report(size_t layer, const ReceiveTrack::Report& report);
    void on_audio_report(size_t lane_index, const ReceiveTrack::Report& report);
    // Its packets come from another SSRC.
    void restart(size_t layer, int64_t now_ms);
    void restart_audio(size_t lane_index);
    // A packet is missing and will not come.
    void on_damage(size_t layer, int64_t now_ms);
    // The publisher is requested to make a keyframe of the stream: those of layers that are read shall be beside it, so
    // that segments of HLS end together.
    void request_keyframes(int64_t now_ms);
    // Begins and ends streams. To be called by the publisher's tick, while the stream is its own.
    void on_tick(const LayerChoice& layers, int64_t now_ms);
    // The stream is not its publisher's any more, or it waits for it.
    void end_all();

    // As Media has them.
    size_t unfinished_input() const;
    void list_unfinished(std::vector<uint64_t>& frames) const;
    void drop_unfinished();

  private:
    static constexpr int64_t kRetryMs = 5000;  // for a name that another publisher has
    static constexpr uint32_t kChangesLogged = 100;
    class Layer;

    bool may_log() { return changes_logged_ < kChangesLogged && ++changes_logged_ > 0; }

    const Setup setup_;
    const VhostConfig& rtc_;
    LayerSource& source_;
    std::vector<std::unique_ptr<Layer>> layers_;
    int64_t keyframes_ms_ = INT64_MIN / 2;  // requested last, of all
    uint32_t changes_logged_ = 0;
    bool is_settled_ = false;
};

}  // namespace service::rtc
