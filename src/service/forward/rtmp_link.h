#pragma once
// RtmpLink: publishes a stream to an RTMP server.

#include <memory>
#include <string>

#include "protocol/rtmp/client_session.h"
#include "protocol/rtmp/url.h"
#include "service/push_link.h"

namespace service::forward {

class RtmpLink final : public PushLink, private ::rtmp::ClientHandler {
  public:
    // url: the request's, parsed.
    RtmpLink(PushRequest request, ::rtmp::Url url);

    net::SessionType session_type() const override { return net::SessionType::kRtmpForward; }
    base::Result<Ready> begin(runtime::Deadline limit) override;
    Refusal refusal() const override { return is_loop_ ? Refusal::kLoop : Refusal::kNone; }
    base::Result<void> on_input(std::span<const uint8_t> bytes) override { return session_->feed(bytes); }
    void on_stream_end() override { session_->close(); }
    base::Slice take_output() override;

  private:
    base::Result<void> ask(runtime::ByteStream& socket, runtime::Deadline limit);

    // ClientHandler
    void on_ready() override {}
    base::Result<void> on_media(::rtmp::Message&) override { return {}; }
    void on_status(std::string_view code, std::string_view description) override;

    const PushRequest request_;
    const ::rtmp::Url url_;
    std::unique_ptr<::rtmp::ClientSession> session_;
    bool is_loop_ = false;
};

}  // namespace service::forward
