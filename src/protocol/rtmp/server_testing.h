#pragma once
// For the tests of RTMP's sessions.

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "protocol/rtmp/server_session.h"

namespace rtmp::testing {

// Accepts everything at once, unless set to wait or refuse; logs its calls.
struct Server : ServerHandler {
    ServerSession session{*this, 3073};
    std::string log;
    bool wait = false;
    bool refuse = false;
    std::string location;  // not empty: players are sent there
    std::string path;      // of what is played
    uint32_t chunk_size = 60000;
    std::vector<Message> media;
    ConnectRequest connected;

    void on_connect(ConnectRequest r) override {
        log += "connect " + r.app + ";";
        connected = std::move(r);
        if (wait) return;
        if (refuse) return session.refuse_connect("NetConnection.Connect.Rejected", "no");
        session.accept_connect({.chunk_size = chunk_size, .id = "id"});
    }
    void on_publish(PublishRequest r) override {
        log += fmt::format("publish {} {} {};", r.name, r.type, int(r.style));
        if (wait) return;
        if (refuse) return session.refuse_publish("NetStream.Publish.BadName", "busy");
        session.accept_publish();
    }
    void on_play(PlayRequest r) override {
        log += fmt::format("play {} {} {} {};", r.name, r.start_ms, r.duration_ms, r.reset);
        if (wait) return;
        if (refuse) return session.refuse_play("NetStream.Play.StreamNotFound", "none");
        if (!location.empty()) return session.redirect_play(location);
        session.accept_play(r.reset, path);
    }
    base::Result<void> on_media(Message& m) override {
        log += fmt::format("media {};", m.type);
        media.push_back(std::move(m));
        return {};
    }
    void on_dropped(const base::Error& error) override { log += "dropped " + error.text() + ";"; }
    void on_close_stream() override { log += "close;"; }
    void on_pause(bool paused) override { log += fmt::format("pause {};", paused); }
    void on_receive(media::Kind kind, bool wanted) override { log += fmt::format("receive {} {};", int(kind), wanted); }
};

}  // namespace rtmp::testing
