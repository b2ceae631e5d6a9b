#pragma once
// Connection: one RTMP client, from accept to end. It is a coroutine while it shakes hands, asks and publishes, and is
// parked without one while it plays: the same object goes from the one to the other and back. Who plays one stream and
// does nothing else is a live::Viewer on the connection's own socket. Where there is more, several plays, a publisher
// beside them, or a message stream id that is not the live log's, a SharedSocket is between, and what comes in is read
// from the loop.
//
// Owned by the Service. Sizes matter: there may be 10,000 that play.

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
#include "service/rtmp/player.h"
#include "service/rtmp/publisher.h"
#include "service/rtmp/shared_socket.h"

namespace service::rtmp {

class Service;

class Connection final : public net::Session, private ::rtmp::ServerHandler, private SharedSocketHandler {
  public:
    Connection(Service& service, std::unique_ptr<runtime::ByteStream> socket, std::shared_ptr<runtime::TlsContext> tls);
    ~Connection() override;

    // Spawns its coroutine. False: there is none for it.
    bool start();
    bool peer_alive() const;
    live::PublisherFacts publisher_facts() const;
    // It takes no input: a guard is asked, while it plays.
    bool asking() const { return asking_; }

    // For its publishers and players.
    void on_revoked(uint32_t stream_id, std::string_view why, base::CloseReason reason);
    void on_input(std::span<const uint8_t> bytes);
    void on_play_over(Player& player);
    void on_player_end(Player& player, std::string_view why);
    // Nothing was played or published in time.
    void on_timeout(std::string_view why) { close(why, base::CloseReason::kPeerTimeout); }

    std::string stream_url() const override;
    net::ClientDetails details() const override;
    net::Traffic traffic() const override;
    void kick(std::string_view reason) override;

    uint32_t place = 0;  // in the service's list

  private:
    // A decision to take, once the session has stopped reading for it.
    struct Request {
        enum { kConnect, kPublish, kPlay } what;
        ::rtmp::ConnectRequest connect{};
        ::rtmp::PublishRequest publish{};
        ::rtmp::PlayRequest play{};
    };
    // Until its connect command has come it may have to make room for others.
    class Newcomer final : public net::Spare {
      public:
        explicit Newcomer(Connection& connection) : connection_(connection) {}

      private:
        void make_room() override {
            connection_.not_a_connection();
            connection_.close("the server is full: it made room for another connection",
                              base::CloseReason::kRefusedLimit);
        }
        Connection& connection_;
    };
    // What only a coroutine of it needs.
    struct Work {
        runtime::Task task;
        std::unique_ptr<runtime::ByteStream> socket;  // null while it only asks: its players have it
        std::shared_ptr<runtime::TlsContext> tls;
        std::vector<uint8_t> input;  // taken from the socket, not yet by the session
        runtime::Deadline deadline = runtime::Deadline::never();
        std::string end_reason;   // not empty: it is to end, with these words
        bool slice_over = false;  // it has more to take, and gives way first
        bool refused = false;     // the peer is told, and has some time to read it
        std::unique_ptr<Newcomer> newcomer{};
    };
    enum class Outcome : uint8_t { kEnded, kParked };

    // connection.cpp: the coroutine.
    void run(Outcome (Connection::*body)());
    Outcome from_accept();
    Outcome from_parked();
    Outcome from_asking();
    base::Result<void> handshake();
    base::Result<Outcome> serve();
    base::Result<void> read_once();
    base::Result<void> take_input(std::span<const uint8_t> bytes);
    base::Result<void> write_output();
    Outcome end(std::string_view why);
    Outcome end(const base::Error& error);
    void will_end(std::string_view why, base::CloseReason reason);
    void finish(std::string_view why, base::CloseReason reason);
    void await_acknowledgement();
    void linger();
    runtime::Deadline deadline() const;
    std::string why_ended(const base::Error& error) const;
    std::string handshake_timeout_text() const;
    std::string publisher_timeout_text() const;
    bool active() const;

    // decisions.cpp: connect, publish, play.
    void decide();
    void decide_connect(::rtmp::ConnectRequest& request);
    void decide_publish(const ::rtmp::PublishRequest& request);
    void decide_play(const ::rtmp::PlayRequest& request);
    base::Result<live::StreamKey> resolve(std::string_view name, const config::Snapshot& snapshot,
                                          const config::Vhost*& vhost);
    bool must_wait();
    base::Result<net::Grant> admit(net::Action action, const live::StreamKey& key, const config::Vhost& vhost);
    bool gave_up(const base::Error& error);
    bool came_from_here() const;
    void refuse(std::string_view what, const base::Error& why);

    // ServerHandler
    void on_connect(::rtmp::ConnectRequest request) override;
    void on_publish(::rtmp::PublishRequest request) override;
    void on_play(::rtmp::PlayRequest request) override;
    base::Result<void> on_media(uint32_t stream_id, ::rtmp::Message& message) override;
    void on_close_stream(uint32_t stream_id) override;
    void on_pause(uint32_t stream_id, bool paused) override;
    void on_receive(uint32_t stream_id, media::Kind kind, bool wanted) override;

    // parked.cpp: without a coroutine.
    void park();
    void share_socket(std::unique_ptr<runtime::ByteStream> socket);
    void join(Player& player, std::unique_ptr<runtime::ByteStream> socket);
    [[nodiscard]] bool resume();
    void ask(std::span<const uint8_t> rest);
    bool serving() const { return work_ && !resuming_; }
    bool attached() const;
    bool between_plays() const;
    Player* player(uint32_t stream_id);
    void send_output();
    void end_parked(std::string_view why, base::CloseReason reason);
    base::Result<void> take_socket_back();
    void count(const Player& player);
    void on_shared_input(std::span<const uint8_t> bytes) override;
    void on_shared_end(std::string_view why) override;

    bool resuming_ = false;      // a coroutine is to take over
    bool asking_ = false;        // and asks first, while its players go on
    bool player_ended_ = false;  // meanwhile, and with it the socket
    Service& service_;
    std::unique_ptr<Work> work_;  // null while parked
    ClientInfo client_;
    net::Grant stay_;  // since connect
    std::unique_ptr<Request> request_;
    std::vector<std::unique_ptr<Publisher>> publishers_;
    std::unique_ptr<SharedSocket> shared_;          // outlives the players
    std::vector<std::unique_ptr<Player>> players_;  // none while it is a coroutine
    base::Ref<live::Stream> stream_;                // the last one published or played: what the log speaks of
    uint64_t received_bytes_ = 0;                   // but for those of players and of a shared socket
    uint64_t sent_bytes_ = 0;
    ::rtmp::ServerSession session_;
};

}  // namespace service::rtmp
