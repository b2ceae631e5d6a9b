#pragma once
// RecordLink: publishes a stream to another RTSP server by ANNOUNCE, SETUP and RECORD (RFC 2326, 10.3 and 10.11), for
// service/forward. Media goes interleaved; by UDP where the server refuses that (461). It sends the log that players
// share, so tracks and payload types are those of an answer to DESCRIBE. When the stream's tracks change the connection
// ends, because the server would have to be told of them anew.

#include <memory>
#include <string>
#include <vector>

#include "media/track_set.h"
#include "protocol/rtsp/url.h"
#include "protocol/sdp/session/write.h"
#include "service/push_link.h"
#include "service/rtsp/datagram_stream.h"
#include "service/rtsp/peer_session.h"
#include "service/rtsp/stats.h"
#include "service/rtsp/tracks.h"

namespace service::rtsp {

net::SessionType rtsp_forward_type();

class RecordLink final : public PushLink, private PeerUser {
  public:
    RecordLink(PushRequest request, ::rtsp::Url url);
    ~RecordLink() override;  // yields

    net::SessionType session_type() const override { return rtsp_forward_type(); }
    const std::string& shown_url() const override { return request_.shown; }
    base::Result<Ready> begin(runtime::Deadline limit) override;
    Refusal refusal() const override;
    base::Result<void> on_input(std::span<const uint8_t> bytes) override { return peer_.take(bytes); }
    int64_t tick_ms() const override { return 1'000; }
    base::Result<void> on_tick() override;
    void on_stream_end() override { peer_.client().end(); }
    bool ended() const override { return peer_.has_ended(); }
    base::Slice take_output() override;

  private:
    base::Result<void> ask(runtime::Deadline limit);
    base::Result<Ready> ready();
    base::Result<PlayKey> key();
    base::Result<DatagramStream::Targets> targets();

    // PeerUser
    base::Result<PeerTracks> on_described(const ::rtsp::Message& answer) override;

    const PushRequest request_;
    ::rtsp::Url url_;
    base::Ref<media::TrackSet> tracks_;  // for which described_ is right
    std::vector<sdp::SessionTrack> described_;
    PeerSession peer_{static_cast<PeerUser&>(*this), rtsp_stats().refused_unknown};
    CountedSession counted_;
};

// For Offers::pushes.
PushOffer push_offer();

}  // namespace service::rtsp
