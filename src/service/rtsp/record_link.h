#pragma once
// RecordLink: publishes a stream to another RTSP server by ANNOUNCE, SETUP and RECORD (RFC 2326, 10.3 and 10.11), for
// service/forward. Media goes interleaved; by UDP where the server refuses that (461). It sends the log that players
// share, so tracks and payload types are those of an answer to DESCRIBE. When the stream's tracks change the connection
// ends, because the server would have to be told of them anew.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "media/track_set.h"
#include "protocol/rtsp/client_session.h"
#include "protocol/rtsp/reader.h"
#include "protocol/rtsp/url.h"
#include "protocol/sdp/session/write.h"
#include "service/push_link.h"
#include "service/rtsp/datagram_stream.h"
#include "service/rtsp/stats.h"
#include "service/rtsp/tracks.h"
#include "service/rtsp/udp_ports.h"

namespace service::rtsp {

net::SessionType rtsp_forward_type();

class RecordLink final : public PushLink {
  public:
    RecordLink(PushRequest request, ::rtsp::Url url);
    ~RecordLink() override;  // yields

    net::SessionType session_type() const override { return rtsp_forward_type(); }
    const std::string& shown_url() const override { return request_.shown; }
    base::Result<Ready> begin(runtime::Deadline limit) override;
    Refusal refusal() const override { return refusal_; }
    base::Result<void> on_input(std::span<const uint8_t> bytes) override;
    int64_t tick_ms() const override { return 1'000; }
    base::Result<void> on_tick() override;
    void on_stream_end() override;
    bool ended() const override { return client_->state() == Client::State::kEnded; }
    base::Slice take_output() override;

  private:
    using Client = ::rtsp::ClientSession;

    base::Result<void> ask(runtime::Deadline limit);
    base::Result<void> take(std::span<const uint8_t> bytes);
    base::Result<void> on_message(const ::rtsp::Message& message);
    base::Result<void> set_up(bool tcp);
    void add_requests();
    base::Result<Ready> ready();
    base::Result<PlayKey> key() const;
    base::Result<DatagramStream::Targets> targets() const;

    const PushRequest request_;
    ::rtsp::Url url_;
    base::Ref<media::TrackSet> tracks_;  // for which described_ is right
    std::vector<sdp::SessionTrack> described_;
    std::unique_ptr<runtime::ByteStream> socket_;  // until it is ready
    std::optional<base::IpAddress> address_;       // of the server; nothing: it has a zone
    std::optional<Client> client_;
    std::optional<::rtsp::Reader> reader_;
    std::vector<std::unique_ptr<UdpPorts>> ports_;  // of each track, by UDP
    std::string output_;
    size_t answered_bytes_ = 0;  // since the last tick, to requests of the server
    std::string location_;  // not empty: it was redirected
    Refusal refusal_ = Refusal::kNone;
    bool tcp_ = true;
    CountedSession counted_;
};

// For Offers::pushes.
PushOffer push_offer();

}  // namespace service::rtsp
