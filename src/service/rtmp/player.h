#pragma once
// Player: what a connection plays: its viewer, the tracks it wants, and whether it is over. Its events go to the
// connection, which owns it and destroys it when its viewer has ended. It never yields.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/ref.h"
#include "convert/flv/to_rtmp.h"
#include "live/fanout/viewer.h"
#include "live/hub/leases.h"
#include "live/hub/stream.h"
#include "media/codec.h"
#include "net/access/gate.h"
#include "runtime/socket/byte_stream.h"

namespace service::rtmp {

class Connection;

class Player final : private live::ViewerHandler {
  public:
    // all_tracks: else the first of each kind. duration_ms: the requested length of the stream; 0: unlimited.
    Player(Connection& connection, base::Ref<live::Stream> stream, uint32_t chunk_size, bool all_tracks,
           uint32_t duration_ms, net::Grant grant);

    // Begins playing, unless it has been paused. first: bytes sent before the stream.
    void join(std::unique_ptr<runtime::ByteStream> socket, base::Slice first);
    void receive(media::Kind kind, bool wanted);
    void set_paused(bool paused);
    // The peer closed it. Nothing more of the stream is sent except the rest of the packet being sent.
    void close();

    live::Viewer& viewer() { return viewer_; }
    const live::Viewer& viewer() const { return viewer_; }
    // For the server's other process.
    void set_lease(live::CopyLease lease) { copy_ = std::move(lease); }
    bool closed() const { return closed_; }
    // Nothing of the stream is sent to it for now.
    bool unserved() const;
    // Closed, or the stream has ended, or the requested length has been sent: its end does not end the connection.
    bool over() const { return closed_ || stream_over_; }

  private:
    void on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) override;
    void on_stream_end(live::Viewer& viewer) override;
    void on_viewer_end(live::Viewer& viewer, std::string_view why) override;

    Connection& connection_;
    net::Grant grant_;
    live::CopyLease copy_;
    convert::RtmpParameters parameters_;  // of its log; the message stream is 1 for all players, as in SRS
    bool paused_ = false;
    bool closed_ = false;
    bool stream_over_ = false;
    live::Viewer viewer_;
};

}  // namespace service::rtmp
