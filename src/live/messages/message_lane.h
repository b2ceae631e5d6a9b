#pragma once
// MessageLane: a stream as numbered messages for players by datagrams (SRT, MPEG-TS over UDP). It encodes each frame
// once, by a WireEncoder, while it has players; a player is an index into its ring. Players are called by
// SendScheduler: once per merge interval of the stream (mw_latency), or with every video frame where that is 0. What
// one round sends is put into as few messages as it fits.
//
// It sends nothing, and knows no sequence numbers, addresses or keys. Owned by the Stream.

#include <cstdint>
#include <memory>

#include "live/fanout/sink_group.h"
#include "live/fanout/wire_encoder.h"
#include "live/hub/stream.h"
#include "live/messages/message_ring.h"

namespace live {

// A player. on_packets(): new messages are in the ring. Any call may remove sinks from the lane: this one and others.
class MessageSink : public ReadySink {
  public:
    // No publisher came back within rejoin_timeout, or memory is needed: the sink must leave soon.
    virtual void on_stream_end() = 0;
    // False: another server, to which the stream is passed on (Stream::demand()). Always the same.
    virtual bool is_player() const { return true; }

  protected:
    ~MessageSink() = default;
};

class MessageLane final : public FrameSink, private SinkGroup<MessageSink> {
  public:
    MessageLane(Stream& stream, const LogKey& key, const MessageRingLimits& limits = {});
    ~MessageLane();

    Stream& stream() const override { return stream_; }
    const LogKey& key() const { return key_; }
    const MessageRing& ring() const { return ring_; }
    using SinkGroup::sinks;

    // The first player has the lane encode: the stream's GOP is in the ring then. delay_us: for how long this player
    // may ask for repairs of a message.
    void join(MessageSink& sink, int64_t delay_us);
    void leave(MessageSink& sink);
    // Where a new player begins; nothing: there is no start yet.
    std::optional<uint64_t> start() const { return ring_.newest_start(); }
    // Has the sinks called soon, even without new messages.
    void wake();

    // How long a message may wait for the round that sends it.
    int64_t interval_ms() const;

    void end_players() { notify_sinks(&MessageSink::on_stream_end); }

    // FrameSink
    void on_tracks(const base::Ref<media::TrackSet>& tracks) override;
    void on_frame(const media::Frame& frame) override;
    void on_unpublish() override;
    size_t memory() const override { return ring_.memory(); }
    void release_memory() override;

  private:
    Begin begin_round(int64_t now_ms) override;
    bool is_start(const media::Frame& frame);

    Stream& stream_;
    LogKey key_;
    std::unique_ptr<WireEncoder> encoder_;  // null: there are no players
    base::Ref<media::TrackSet> tracks_;
    MessageRing ring_;
};

}  // namespace live
