#pragma once
// Connection: one RTMP client, from accept to end, that publishes or plays one stream at a time. It has a coroutine
// during the handshake, while a guard is asked and while it publishes; while it plays it is parked without one, a
// live::Viewer on the connection's socket. The same object changes between these phases (phase.h).
//
// Owned by the Service. Size matters: there may be 10,000 players.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "protocol/rtmp/server_session.h"
#include "protocol/rtmp/url.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/byte_stream.h"
#include "runtime/socket/tls.h"
#include "service/rtmp/client_info.h"
#include "service/rtmp/phase.h"
#include "service/rtmp/player.h"
#include "service/rtmp/publisher.h"

namespace service::rtmp {

class Service;

enum class Peer : uint8_t {
    kClient,
    kOtherProcess,  // of this server (service/other_process.h): no guard is asked, and it counts for no limit
};

class Connection final : public net::Session, private ::rtmp::ServerHandler {
  public:
    Connection(Service& service, std::unique_ptr<runtime::ByteStream> socket, std::shared_ptr<runtime::TlsContext> tls,
               Peer peer = Peer::kClient);
    ~Connection() override;

    // Spawns its coroutine. False: none was available.
    bool start();
    bool peer_alive() const;
    live::PublisherFacts publisher_facts() const;
    // A coroutine that waits in a paced read reads now. False: none does.
    bool read_now();

    // Called by its publisher and its player.
    void on_revoked(std::string_view why, base::CloseReason reason);
    void on_input(std::span<const uint8_t> bytes);
    void on_play_over();
    void on_player_end(std::string_view why);

    size_t unfinished_input() const override;
    void list_unfinished_input(std::vector<uint64_t>& messages) const override {
        session_.reader().list_unfinished(messages);
    }

    bool is_unserved() const override;

    std::string stream_text() const override;
    bool is_outgoing() const override { return peer_ == Peer::kOtherProcess; }
    net::ClientDetails details() const override;
    net::SessionFigures figures() const override;
    net::Traffic traffic() const override;
    void kick(std::string_view reason) override;

    uint32_t index = 0;  // in the service's list

  private:
    // A request to decide on, after the session has stopped reading for it.
    struct Request {
        enum { kConnect, kPublish, kPlay } what;
        ::rtmp::ConnectRequest connect{};
        ::rtmp::PublishRequest publish{};
        ::rtmp::PlayRequest play{};
    };
    // Until its connect command arrives, the connection may be closed to make room for others.
    class Embryonic final : public net::EvictionCandidate {
      public:
        explicit Embryonic(Connection& connection) : connection_(connection) {}

      private:
        void evict() override {
            connection_.not_a_connection();
            connection_.close("the server is full: it made room for another connection",
                              base::CloseReason::kRefusedLimit);
        }
        Connection& connection_;
    };
    // What a connection needs only while it has a coroutine.
    struct Work {
        runtime::Task task;
        std::unique_ptr<runtime::ByteStream> socket;
        std::shared_ptr<runtime::TlsContext> tls;
        std::vector<uint8_t> input;  // received, not yet processed by the session
        runtime::Deadline deadline = runtime::Deadline::never();
        std::string end_reason;   // not empty: the connection is to end, for this reason
        bool slice_over = false;  // it has more input to process and yields first
        bool refused = false;     // the peer has been notified and has some time to read it
        std::unique_ptr<Embryonic> embryonic{};
        // What the player of a closed play had still to send, and the player itself, whose callback
        // may be running.
        std::vector<base::Slice> unsent{};
        std::unique_ptr<Player> former{};
    };

    // connection.cpp: the coroutine.
    void enter(Phase next);
    bool serving() const { return phase_ == Phase::kServing; }
    void run(base::Result<void> (Connection::*body)());
    base::Result<void> from_accept();
    base::Result<void> handshake();
    base::Result<void> serve();
    base::Result<void> read_once();
    base::Result<void> take_input(std::span<const uint8_t> bytes);
    base::Result<void> count_memory();
    base::Result<void> write_output();
    void end(std::string_view why);
    void end(const base::Error& error);
    void will_end(std::string_view why, base::CloseReason reason);
    void finish(std::string_view why, base::CloseReason reason);
    void await_acknowledgement();
    void linger();
    runtime::Deadline deadline() const;
    std::string why_ended(const base::Error& error) const;
    std::string handshake_timeout_text() const;

    // requests.cpp: which one came, the keys that names stand for, and the guards.
    // What a name stands for. The vhost lives as long as the snapshot.
    struct ResolvedStream {
        const config::Vhost* vhost;  // null: it does not exist or is disabled
        live::StreamKey key;
        std::string named_vhost;  // by the client
        std::string params;
    };
    void on_connect(::rtmp::ConnectRequest request) override;
    void on_publish(::rtmp::PublishRequest request) override;
    void on_play(::rtmp::PlayRequest request) override;
    void on_close_stream() override;
    void decide();
    void decide_connect(::rtmp::ConnectRequest& request);
    bool gave_up(const base::Error& error);
    void refuse(std::string_view what, const base::Error& why);
    static base::Result<ResolvedStream> resolve(std::string_view tc_url, std::string_view app, std::string_view name,
                                                const config::Snapshot& snapshot);
    static std::unexpected<base::Error> no_vhost(const ResolvedStream& resolved);
    base::Result<ResolvedStream> resolve_stream(std::string_view name, const config::Snapshot& snapshot);
    base::Result<net::Grant> ask_gate(net::Visitor visitor, const config::Vhost& vhost);
    base::Result<net::Grant> admit(net::Action action, const ResolvedStream& resolved);
    base::Result<net::Grant> admit_connect(const ResolvedStream& resolved);
    base::Result<net::Grant> admit_key(const ResolvedStream& resolved);
    void not_counting(int64_t waited_us);
    void apply(const config::Vhost& vhost);

    // play.cpp: the request to play, and parked, without a coroutine.
    void decide_play(const ::rtmp::PlayRequest& request);
    std::string redirection(const ResolvedStream& resolved);
    std::string path_for_peer() const;
    void on_pause(bool paused) override;
    void on_receive(media::Kind kind, bool wanted) override;
    void park();
    void resume(std::span<const uint8_t> rest);
    base::Result<void> from_parked();
    void send_output();
    void count_traffic(const Player& player);

    // publish.cpp: the request to publish, and what comes then.
    void decide_publish(const ::rtmp::PublishRequest& request);
    bool is_forward_loop() const;
    base::Result<void> on_media(::rtmp::Message& message) override;
    void on_dropped(const base::Error& error) override;

    Phase phase_ = Phase::kHandshake;
    const Peer peer_;
    Service& service_;
    std::unique_ptr<Work> work_;  // null in kParked
    ClientInfo client_;
    net::Grant grant_;  // held since connect
    std::unique_ptr<Request> request_;
    std::unique_ptr<Publisher> publisher_;  // null: it does not publish
    std::unique_ptr<Player> player_;        // null: it does not play
    base::Ref<live::Stream> stream_;        // the last one published or played; for the log
    uint64_t received_bytes_ = 0;           // without those of the player
    uint64_t sent_bytes_ = 0;
    ::rtmp::ServerSession session_;
};

}  // namespace service::rtmp
