#pragma once
// OutgoingSession: a connection that this server opened to another one, as a session of the stream that it pulls or
// pushes. It counts for no limit of clients.

#include <functional>
#include <string>
#include <string_view>

#include "base/close_reason.h"
#include "base/stream_key.h"
#include "live/fanout/viewer.h"
#include "net/sessions/session.h"

namespace service::relay {

class OutgoingSession final : public net::Session {
  public:
    struct Facts {
        std::string id{};
        std::string ip{};
        net::SessionType type = net::SessionType::kNone;  // one that publishes: the stream is pulled
        base::StreamKey stream{};
        std::string url{};  // of the other server, without passwords
        bool is_with_other_process = false;
    };
    // The functions are called while it exists; they do not yield.
    struct Connection {
        std::function<net::Traffic()> traffic;
        std::function<void(std::string_view why)> kick;
        std::function<std::optional<net::SrtQuality>()> srt_quality{};  // may be empty
        std::function<net::SessionFigures()> figures{};                 // likewise
    };

    OutgoingSession(net::SessionTable& table, Facts facts, Connection connection);

    std::string stream_text() const override { return facts_.stream.text(); }
    net::ClientDetails details() const override { return {facts_.url, {}, {}, {}}; }
    net::SessionFigures figures() const override {
        return connection_.figures ? connection_.figures() : net::SessionFigures();
    }
    bool is_outgoing() const override { return true; }
    net::Traffic traffic() const override { return connection_.traffic(); }
    void kick(std::string_view why) override { connection_.kick(why); }
    std::optional<net::SrtQuality> srt_quality() const override {
        return connection_.srt_quality ? connection_.srt_quality() : std::optional<net::SrtQuality>();
    }
    // The log line of its end. To be called once, before it is destroyed.
    void end(std::string_view why, base::CloseReason reason) { log_end(why, reason); }

  private:
    const Facts facts_;
    const Connection connection_;
};

inline net::Traffic traffic_of(const live::Viewer& viewer) {
    const live::ViewerCounters counters = viewer.counters();
    return {counters.received_bytes, counters.sent_bytes};
}

}  // namespace service::relay
