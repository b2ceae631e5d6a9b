#pragma once
// For the tests in this folder: an origin as an edge sees it, by RTMP. It plays some audio, refuses, or sends the
// player elsewhere, also in the midst of the stream.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "protocol/rtmp/chunk_writer.h"
#include "protocol/rtmp/handshake.h"
#include "protocol/rtmp/messages.h"
#include "protocol/rtmp/server_session.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/tcp.h"

namespace service::edge::testing {

class FakeOrigin {
  public:
    FakeOrigin() {
        auto listener = runtime::listen_tcp({"127.0.0.1", 0});
        EXPECT_TRUE(listener.has_value()) << listener.error().text();
        listener_ = *std::move(listener);
        acceptor_ = runtime::spawn("fake-accept", [this] { accept(); });
    }
    ~FakeOrigin() {
        acceptor_.cancel_and_join();
        for (auto& peer : peers_) peer->task.cancel_and_join();
    }
    std::string address() const { return "127.0.0.1:" + std::to_string(listener_->port()); }

    bool plays = true;     // otherwise players are refused
    std::string location;  // not empty: a player is sent there, after its first audio
    std::vector<::rtmp::ConnectRequest> connects;
    std::vector<std::string> played;  // names, with parameters

  private:
    struct Peer final : ::rtmp::ServerHandler {
        explicit Peer(FakeOrigin& o) : origin(o) {}
        FakeOrigin& origin;
        std::unique_ptr<runtime::ByteStream> socket;
        ::rtmp::ServerSession session{*this, 3073};
        runtime::Task task;
        std::vector<uint8_t> media;
        uint32_t sent_to = 0;  // the message stream

        void on_connect(::rtmp::ConnectRequest r) override {
            origin.connects.push_back(std::move(r));
            session.accept_connect({});
        }
        void on_publish(::rtmp::PublishRequest r) override { session.refuse_publish(r.stream_id, "no", "no"); }
        void on_play(::rtmp::PlayRequest r) override {
            origin.played.push_back(r.name);
            if (!origin.plays) return session.refuse_play(r.stream_id, "NetStream.Play.Failed", "not here");
            session.accept_play(r.stream_id, r.reset, "");
            sent_to = r.stream_id;
            // AAC's sequence header, and a frame.
            for (const std::vector<uint8_t>& body : {std::vector<uint8_t>{0xaf, 0, 0x12, 0x10}, {0xaf, 1, 0x21, 0x10}})
                ::rtmp::append_message(media, 6, ::rtmp::kAudio, r.stream_id, 0, body, session.out_chunk_size());
        }
        base::Result<void> on_media(uint32_t, ::rtmp::Message&) override { return {}; }
        void on_close_stream(uint32_t) override {}
        void on_pause(uint32_t, bool) override {}
        void on_receive(uint32_t, media::Kind, bool) override {}

        base::Result<void> send() {
            const auto never = runtime::Deadline::never();
            std::vector<uint8_t> out = session.take_output();
            out.insert(out.end(), media.begin(), media.end());
            media.clear();
            if (!out.empty()) TRY(socket->write(out, never));
            if (sent_to == 0 || origin.location.empty()) return {};
            ::rtmp::Command notice{"onStatus", 0};
            notice.arguments.emplace_back();
            notice.arguments.push_back(
                amf::Value::object({{"level", "error"},
                                    {"code", "NetConnection.Connect.Rejected"},
                                    {"ex", amf::Value::object({{"code", 302}, {"redirect2", origin.location}})}}));
            ::rtmp::append_command(media, 5, std::exchange(sent_to, 0), notice, session.out_chunk_size());
            return send();
        }
        base::Result<void> serve() {
            const auto never = runtime::Deadline::never();
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
            auto& peer = *peers_.emplace_back(std::make_unique<Peer>(*this));
            peer.socket = *std::move(socket);
            peer.task = runtime::spawn("fake-peer", [&peer] {
                (void)peer.serve();
                peer.socket.reset();
            });
        }
    }

    std::unique_ptr<runtime::TcpListener> listener_;
    std::vector<std::unique_ptr<Peer>> peers_;
    runtime::Task acceptor_;
};

}  // namespace service::edge::testing
