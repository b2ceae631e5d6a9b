#pragma once
// Connection: one RTSP client, from accept to end. It has a coroutine until it plays, and while it publishes. A player
// is parked, a live::Viewer on its own socket, and its requests are answered from the loop. One connection has one
// session.
//
// Owned by the Service. Size matters: there may be 10,000 players.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "live/fanout/viewer.h"
#include "live/hub/leases.h"
#include "live/hub/stream.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "protocol/rtsp/reader.h"
#include "protocol/rtsp/server_session.h"
#include "protocol/sdp/session/read.h"
#include "protocol/sdp/session/track.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/byte_stream.h"
#include "runtime/socket/tls.h"
#include "service/rtsp/publisher.h"
#include "service/rtsp/stats.h"
#include "service/rtsp/tracks.h"
#include "service/rtsp/udp_ports.h"

namespace service::rtsp {

class Service;

net::SessionType rtsp_play_type();
net::SessionType rtsp_publish_type();

class Connection final : public net::Session, private live::ViewerHandler, private UdpReceiver, private PublisherOwner {
  public:
    Connection(Service& service, std::unique_ptr<runtime::ByteStream> socket, std::shared_ptr<runtime::TlsContext> tls);
    ~Connection() override;

    // Spawns its coroutine. False: none was available.
    bool start();

    size_t unfinished_input() const override;
    void list_unfinished_input(std::vector<uint64_t>& parts) const override;
    void drop_unfinished_input(std::string_view why) override;

    bool is_unserved() const override { return viewer_ && (viewer_->paused() || !stream_->published()); }

    std::string stream_text() const override { return stream_ ? stream_->key().text() : "-"; }
    net::ClientDetails details() const override;
    net::SessionFigures figures() const override;
    net::Traffic traffic() const override;
    void kick(std::string_view reason) override;

    // A player by UDP that sent neither a request nor a report for the session's timeout is ended: no connection
    // shows that it is still there and wants the datagrams.
    void check_timeout(int64_t now_ms);

    uint32_t index = 0;  // in the service's list

  private:
    using Message = ::rtsp::Message;

    // Until it plays, the connection may be closed to make room for others.
    class Embryonic final : public net::EvictionCandidate {
      public:
        explicit Embryonic(Connection& connection) : connection_(connection) {}

      private:
        void evict() override;
        Connection& connection_;
    };
    // What a connection needs only while it has a coroutine.
    struct Work {
        explicit Work(Connection& connection) : embryonic(connection) {}
        runtime::Task task;
        std::unique_ptr<runtime::ByteStream> socket;
        std::shared_ptr<runtime::TlsContext> tls;
        runtime::Deadline deadline = runtime::Deadline::never();  // of the next request
        std::vector<uint8_t> input;                               // received, not yet processed
        std::string end_reason;                                   // not empty: the connection is to end for it
        Embryonic embryonic;
        std::string nonce;
        bool is_first = true;  // no request came yet
        bool authenticated = false;
        bool tunnelled = false;
        unsigned wrong_passwords = 0;
        // The stream that was described.
        std::unique_ptr<live::FramesLease> frames;
        std::vector<sdp::SessionTrack> tracks;
        // The stream that was announced; vhost belongs to the snapshot.
        sdp::ReadSession announced;
        config::SnapshotPtr snapshot;
        const config::Vhost* vhost = nullptr;
        std::string path;       // the servers that it passed, as ANNOUNCE's Via states them
        int64_t report_us = 0;  // by the loop's clock: when receiver reports are due
    };
    // The stream that a URL names.
    struct ResolvedStream {
        const config::Vhost* vhost;  // belongs to the snapshot
        live::StreamKey key;
        std::string params;
    };

    // connection.cpp: the coroutine.
    void run();
    base::Result<void> serve();
    base::Result<void> take_input();
    base::Result<void> read_once();
    void on_datagram(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us) override;
    base::Result<void> begin_tunnel(const Message& request, std::span<const uint8_t> rest);
    base::Result<void> send(std::string_view bytes);
    void end(const base::Error& error);
    void will_end(std::string_view why, base::CloseReason reason);
    void finish(std::string_view why, base::CloseReason reason);

    // session_timeout.cpp.
    void restart_timeout();
    base::Error timed_out() const;

    // requests.cpp: what all requests have in common, and SETUP.
    Message respond(const Message& request);
    Message response_to(const Message& request, int status = 200, std::string_view why = {}) const;
    std::optional<Message> refuse_early(const Message& request);
    std::optional<Message> authenticate(const Message& request);
    Message options(const Message& request) const;
    Message setup(const Message& request);
    Message refusal(const Message& request, std::string_view what, const base::Error& why);
    base::Result<ResolvedStream> resolve_url(const std::string& url, const config::Snapshot& snapshot) const;
    static std::string tc_url_of(const std::string& url);
    net::Visitor visitor(net::Action action, const ResolvedStream& resolved, const std::string& url) const;
    bool is_publisher() const;
    std::optional<size_t> track_of(const std::string& url) const;
    std::string_view claim_ports(size_t track, ::rtsp::ServerSession::Chosen& chosen);
    std::string_view reserve(size_t track, ::rtsp::ServerSession::Chosen& chosen);
    void release_ports(size_t track);
    Carrier carrier() const;

    // play.cpp: DESCRIBE and PLAY, and parked, without a coroutine.
    Message describe(const Message& request);
    Message play(const Message& request);
    base::Result<void> open_stream(const std::string& url);
    base::Result<base::Ref<live::Stream>> await_published(const ResolvedStream& resolved);
    base::Result<void> await_tracks(live::Stream& stream);
    bool has_description_of(std::string_view url) const;
    PlayKey play_key() const;
    void add_rtp_info(Message& response);
    std::string_view channels_refusal(size_t track, const ::rtsp::Channels& channels) const;
    void park(const Message& response);
    void on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) override;
    void on_stream_end(live::Viewer& viewer) override;
    void on_viewer_end(live::Viewer& viewer, std::string_view why) override;
    void on_request(const Message& request);
    std::unique_ptr<runtime::ByteStream> stream_of_datagrams();
    void on_player_report(size_t track, std::span<const uint8_t> bytes);

    // publish.cpp: ANNOUNCE and RECORD, and what is received then.
    static constexpr int64_t kReportIntervalUs = 5'000'000;
    Message announce(const Message& request);
    Message record(const Message& request);
    base::Result<void> open_publication(const std::string& url, const std::string& description);
    base::Result<void> take_recorded(std::span<const uint8_t> bytes);
    base::Result<void> count_memory();
    void take_interleaved(int64_t now_us);
    void on_media(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us);
    base::Result<void> tick_publisher();
    void on_revoked(std::string_view why, base::CloseReason reason) override;
    bool peer_alive() const override;
    live::PublisherFacts publisher_facts() const override;

    Service& service_;
    std::unique_ptr<Work> work_;  // null while it is parked
    ::rtsp::Reader reader_;
    ::rtsp::ServerSession session_;
    std::string session_id_;  // empty before the first SETUP
    std::string url_;         // of the stream that was described, without a slash at its end
    std::string params_;      // "?k=v"
    net::Grant grant_;
    base::Ref<live::Stream> stream_;
    std::unique_ptr<Publisher> publisher_;
    std::optional<live::Viewer> viewer_;
    // The packets of each track that the reports of a player by UDP count as lost. Others have none.
    std::unique_ptr<std::array<uint32_t, kMaxPlayTracks>> lost_;
    uint64_t received_bytes_ = 0;  // without the viewer's
    uint64_t sent_bytes_ = 0;
    int session_timeout_s_ = 0;
    CountedSession counted_;
    uint8_t claimed_ = 0;   // bits: the tracks whose client ports are claimed
    int64_t heard_ms_ = 0;  // by the loop's clock: the last request or report of a player
};

}  // namespace service::rtsp
