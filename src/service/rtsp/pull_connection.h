#pragma once
// PullConnection: one connection to a camera or server, whose stream is pulled: it asks for the description, sets up
// its tracks and publishes what comes. The camera is not trusted: what it sends has the bounds of a publisher
// (publisher.h), and datagrams count from its address alone. The stream's name is acquired when the first packet comes,
// so that a camera without media does not publish.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"
#include "protocol/rtsp/client_session.h"
#include "protocol/rtsp/reader.h"
#include "protocol/sdp/session/read.h"
#include "runtime/socket/byte_stream.h"
#include "service/outgoing_session.h"
#include "service/rtsp/publisher.h"
#include "service/rtsp/pull.h"
#include "service/rtsp/pull_ports.h"
#include "service/rtsp/stats.h"

namespace service::rtsp {

net::SessionType rtsp_pull_type();

// The source that a camera redirects to. The credentials are for its own host and port alone, and not for a connection
// that is less secure.
base::Result<PullSource> redirected(const PullSource& from, const std::string& location);

class PullConnection final : private PublisherOwner, private UdpReceiver {
  public:
    // vhost belongs to the snapshot. The references must outlive it.
    PullConnection(Pull& pull, PullOwner& owner, const PullSource& source, config::SnapshotPtr snapshot,
                   const config::Vhost& vhost, base::Ref<live::Stream> stream);
    ~PullConnection();
    PullConnection(const PullConnection&) = delete;

    // Until it ends. No error: it was redirected (location()), or the stream is not wanted any more. Yields.
    base::Result<void> run();
    const std::string& location() const { return location_; }
    // It ends within a second; the first reason counts.
    void close(std::string_view why, base::CloseReason reason);

  private:
    base::Result<void> connect();
    base::Result<void> serve();
    base::Result<void> send_requests();
    base::Result<void> take(std::span<const uint8_t> bytes);
    base::Result<void> on_message(const ::rtsp::Message& message);
    base::Result<void> on_described();
    base::Result<void> set_up(bool tcp);
    void on_playing();
    void on_media(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us);
    bool acquire();
    base::Result<void> tick();
    void add_reports(int64_t now_us);
    void leave(const base::Result<void>& served);

    // UdpReceiver
    void on_datagram(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us) override;
    // PublisherOwner
    void on_revoked(std::string_view why, base::CloseReason reason) override { close(why, reason); }
    bool peer_alive() const override { return socket_ && !socket_->peer_gone(); }
    live::PublisherFacts publisher_facts() const override;

    Pull& pull_;
    PullOwner& owner_;
    const PullSource source_;
    const config::SnapshotPtr snapshot_;
    const config::Vhost& vhost_;
    base::Ref<live::Stream> stream_;
    std::string id_;
    std::unique_ptr<runtime::ByteStream> socket_;
    std::optional<base::IpAddress> address_;  // of the camera; nothing: it has a zone
    std::optional<::rtsp::ClientSession> client_;
    ::rtsp::Reader reader_;
    std::string output_;  // to be sent
    sdp::ReadSession described_;
    std::vector<std::unique_ptr<PullPorts>> ports_;  // of each track, by UDP
    std::unique_ptr<Publisher> publisher_;
    std::optional<OutgoingSession> session_;  // from its first packet on
    CountedSession counted_;
    std::string path_;  // the servers that the stream passed
    std::string location_;
    std::string end_reason_;  // not empty: it is to end
    base::CloseReason end_code_ = base::CloseReason::kUnknown;
    bool tcp_ = true;
    bool tried_other_ = false;
    bool playing_ = false;
    int64_t report_us_ = 0;
    uint64_t received_bytes_ = 0, sent_bytes_ = 0;
};

}  // namespace service::rtsp
