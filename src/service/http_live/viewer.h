#pragma once
// LiveViewer: one HTTP or WebSocket viewer after its handshake: a session and a live::Viewer, without a coroutine.
// Input of plain HTTP viewers is ignored; WebSocket control frames are answered at packet boundaries (RFC 6455, section
// 5.5).

#include <memory>
#include <string>

#include "live/fanout/viewer.h"
#include "live/hub/stream.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "protocol/websocket/client_frames.h"

namespace service::http_live {

class LiveViewer;

class LiveViewerOwner {
  public:
    // Destroys the viewer.
    virtual void viewer_ended(LiveViewer& viewer) = 0;

  protected:
    ~LiveViewerOwner() = default;
};

class LiveViewer final : public net::Session, private live::ViewerHandler {
  public:
    // protocol: for its record, a literal: "http-ts".
    LiveViewer(LiveViewerOwner& owner, net::SessionTable& sessions, const std::string& id, const std::string& ip,
               const Past& past, base::Ref<live::Stream> stream, net::Grant grant, bool websocket,
               const net::Visitor& visitor, std::string_view protocol);

    // early: bytes that the peer sent after its request.
    void join(const live::LogKey& key, std::unique_ptr<runtime::ByteStream> socket, std::string_view response_head,
              std::span<const uint8_t> early);
    void stop();

    std::string stream_text() const override { return viewer_.stream().key().text(); }
    net::ClientDetails details() const override;
    net::SessionFigures figures() const override;
    net::Traffic traffic() const override;
    void kick(std::string_view reason) override;

    uint32_t index = 0;  // in the owner's list

  private:
    void on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) override;
    void on_stream_end(live::Viewer& viewer) override;
    void on_viewer_end(live::Viewer& viewer, std::string_view why) override;
    void on_message(const websocket::Message& message);
    // The last frame to a WebSocket viewer (RFC 6455, section 5.5.1).
    void send_close(uint16_t code, std::string_view reason);
    void close_websocket(uint16_t code, std::string_view reason, std::string_view why, base::CloseReason why_code);

    // A plain HTTP peer that sends this much is disconnected.
    static constexpr uint64_t kMaxInputBytes = 64 * 1024;

    LiveViewerOwner& owner_;
    net::Traffic before_;  // the traffic of its request
    // Sent by the client.
    std::string tc_url_, page_url_, params_;
    net::Grant grant_;
    std::unique_ptr<websocket::ClientFrames> frames_;  // WebSocket viewers only
    bool close_sent_ = false;
    const std::string_view protocol_;
    live::Viewer viewer_;
};

}  // namespace service::http_live
