#pragma once
// For tests of services that fetch streams or pass them on: a fixture, and another server, by RTMP. It takes what is
// published, or refuses it, or does not read; it plays some audio, refuses, or sends the player elsewhere, also in the
// midst of the stream.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/options.h"
#include "live/hub/registry.h"
#include "live/hub/testing.h"
#include "net/sessions/session.h"
#include "protocol/rtmp/chunk_writer.h"
#include "protocol/rtmp/handshake.h"
#include "protocol/rtmp/messages.h"
#include "protocol/rtmp/server_session.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/tcp.h"

namespace service::relay::testing {

// A publisher of this server, or what fetches a stream.
struct Publisher : live::PublicationOwner {
    live::PublisherFacts about{.session_id = "c1", .ip = "10.0.0.1", .tc_url = "rtmp://h/live", .params = "?k=v"};
    std::string ended;  // why the publication was revoked
    bool fetches = false;
    live::PublisherFacts facts() const override { return about; }
    bool publisher_alive() const override { return true; }
    bool is_relay() const override { return fetches; }
    void publication_revoked(std::string_view why, base::CloseReason) override { ended = why; }
};

// Frames are sent at once, and players of an ended stream do not wait for long.
class RelayTest : public runtime::testing::RuntimeTest {
  protected:
    RelayTest() {
        vhost().play.mw_latency = 0;
        vhost().play.rejoin_timeout = 100;
    }
    // To be called in TearDown(), when the service has ended.
    void expect_nothing_left() {
        publication_.end();
        stream_.reset();
        EXPECT_EQ(sessions_.size(), 0u);
        until([this] { return registry_.size() == 0; });
        registry_.stop();
    }
    config::Vhost& vhost() const { return snapshot_->vhosts.front(); }
    live::StreamKey key(const std::string& stream = "s") const { return {vhost().name, "live", stream}; }
    void publish(const live::StreamKey& stream) {
        stream_ = registry_.find_or_create(stream, live::live_options(vhost()));
        auto publication = stream_->acquire(owner_, false);
        ASSERT_TRUE(runtime::testing::ok(publication));
        publication_ = std::move(*publication);
        publication_.publish(live::testing::header(media::Kind::kVideo, "V"));
        publication_.publish(live::testing::header(media::Kind::kAudio, "A"));
        publication_.publish(live::testing::video(0, true));
        publication_.publish(live::testing::audio(10));
    }
    template <class Condition>
    static bool until(Condition condition) {
        for (int i = 0; i < 2000 && !condition(); ++i) (void)runtime::sleep_ms(5).has_value();
        EXPECT_TRUE(condition());
        return condition();
    }

    std::shared_ptr<config::Snapshot> snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
    net::SessionTable sessions_;
    live::Registry registry_;
    Publisher owner_;
    base::Ref<live::Stream> stream_;
    live::Publication publication_;
};

class FakeServer {
  public:
    explicit FakeServer(uint16_t port = 0) {
        auto listener = runtime::listen_tcp({"127.0.0.1", port});
        EXPECT_TRUE(listener.has_value()) << listener.error().text();
        listener_ = *std::move(listener);
        acceptor_ = runtime::spawn("fake-accept", [this] { accept(); });
    }
    ~FakeServer() {
        acceptor_.cancel_and_join();
        drop_all();
    }
    uint16_t port() const { return listener_->port(); }
    std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
    // Closes every connection.
    void drop_all() {
        for (auto& peer : peers_) peer->task.cancel_and_join();
        peers_.clear();
    }

    bool silent = false;  // sends nothing
    int accepted = 0;     // connections
    std::vector<::rtmp::ConnectRequest> connects;

    std::string reject;  // not empty: every connect is refused with these words
    std::string refuse;  // a status code: every publish is refused with it
    bool close_at_once = false;
    std::string log;    // "publish live/s?k=v;close;end;"
    std::string path;   // the last forwardPath
    std::string media;  // "9@40:12;" type, time and size of each received message
    int publishes = 0;

    bool plays = true;                // otherwise players are refused
    std::string location;             // not empty: a player is sent there, after its first audio
    std::vector<std::string> played;  // names, with parameters

  private:
    struct Peer final : ::rtmp::ServerHandler {
        explicit Peer(FakeServer& s) : server(s) {}
        FakeServer& server;
        std::unique_ptr<runtime::ByteStream> socket;
        ::rtmp::ServerSession session{*this, 3073};
        runtime::Task task;
        std::string app;
        bool published = false;
        std::vector<uint8_t> output;  // beside the session's
        bool plays = false;

        void on_connect(::rtmp::ConnectRequest r) override {
            app = r.app;
            server.path = r.forward_path;
            server.connects.push_back(std::move(r));
            if (server.reject.empty()) return session.accept_connect({});
            session.refuse_connect("NetConnection.Connect.Rejected", server.reject);
        }
        void on_publish(::rtmp::PublishRequest r) override {
            server.log += "publish " + app + "/" + r.name + ";";
            ++server.publishes;
            published = true;
            if (server.refuse.empty()) return session.accept_publish();
            session.refuse_publish(server.refuse, "no");
        }
        void on_play(::rtmp::PlayRequest r) override {
            server.played.push_back(r.name);
            if (!server.plays) return session.refuse_play("NetStream.Play.Failed", "not here");
            session.accept_play(r.reset, "");
            plays = true;
            // AAC's sequence header, and a frame.
            for (const std::vector<uint8_t>& body : {std::vector<uint8_t>{0xaf, 0, 0x12, 0x10}, {0xaf, 1, 0x21, 0x10}})
                ::rtmp::append_message(output, 6, ::rtmp::kAudio, 1, 0, body, session.out_chunk_size());
        }
        base::Result<void> on_media(::rtmp::Message& m) override {
            server.media += fmt::format("{}@{}:{};", m.type, m.timestamp, m.payload.size());
            return {};
        }
        void on_close_stream() override { server.log += "close;"; }
        void on_pause(bool) override {}
        void on_receive(media::Kind, bool) override {}

        base::Result<void> send() {
            std::vector<uint8_t> bytes = session.take_output();
            bytes.insert(bytes.end(), output.begin(), output.end());
            output.clear();
            if (!bytes.empty()) TRY(socket->write(bytes, runtime::Deadline::never()));
            if (!std::exchange(plays, false) || server.location.empty()) return {};
            ::rtmp::Command notice{"onStatus", 0};
            notice.arguments.emplace_back();
            notice.arguments.push_back(
                amf::Value::object({{"level", "error"},
                                    {"code", "NetConnection.Connect.Rejected"},
                                    {"ex", amf::Value::object({{"code", 302}, {"redirect2", server.location}})}}));
            ::rtmp::append_command(output, 5, 1, notice, session.out_chunk_size());
            return send();
        }
        base::Result<void> serve() {
            const auto never = runtime::Deadline::never();
            if (server.silent) {
                TRY(runtime::sleep_until(never));
            }
            ::rtmp::ServerHandshake handshake([](std::span<uint8_t> b) { std::ranges::fill(b, 0x42); });
            std::vector<uint8_t> rest;
            while (!handshake.done()) {
                auto bytes = TRY(runtime::read_shared(*socket, never));
                if (bytes.empty()) return base::fail(base::Code::kClosed, "closed");
                std::vector<uint8_t> out;
                const size_t taken = TRY(handshake.feed(bytes, 1, out));
                rest.assign(bytes.begin() + static_cast<ptrdiff_t>(taken), bytes.end());
                if (!out.empty()) TRY(socket->write(out, never));
            }
            TRY(session.feed(rest));
            while (true) {
                TRY(send());
                if (server.close_at_once && published) return {};
                auto bytes = TRY(runtime::read_shared(*socket, never));
                if (bytes.empty()) return {};
                TRY(session.feed(bytes));
            }
        }
    };

    void accept() {
        while (true) {
            auto socket = listener_->accept(runtime::Deadline::never());
            if (!socket) return;
            ++accepted;
            auto& peer = *peers_.emplace_back(std::make_unique<Peer>(*this));
            peer.socket = *std::move(socket);
            peer.task = runtime::spawn("fake-peer", [this, &peer] {
                (void)peer.serve();
                log += "end;";
                peer.socket.reset();
            });
        }
    }

    std::unique_ptr<runtime::TcpListener> listener_;
    std::vector<std::unique_ptr<Peer>> peers_;
    runtime::Task acceptor_;
};

}  // namespace service::relay::testing
