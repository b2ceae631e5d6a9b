#pragma once
// RtmpLink: publishes a stream to an RTMP server.

#include <memory>
#include <string>

#include "protocol/rtmp/client_session.h"
#include "service/push_link.h"
#include "service/relay/target.h"

namespace service::relay {

struct RtmpLinkOptions {
    std::string log_name{};  // "forward"
    net::SessionType session_type = net::SessionType::kNone;
    Target target{};
    std::string path{};        // the servers that the stream passed, this one included
    int64_t connect_ms = 0;    // of the TCP connection; 0: as long as all of it may take
    ClientTls* tls = nullptr;  // outlives it
};

class RtmpLink final : public PushLink, private ::rtmp::ClientHandler {
  public:
    explicit RtmpLink(RtmpLinkOptions options) : options_(std::move(options)) {}

    net::SessionType session_type() const override { return options_.session_type; }
    const std::string& shown_url() const override { return options_.target.shown; }
    base::Result<Ready> begin(runtime::Deadline limit) override;
    Refusal refusal() const override { return is_loop_ ? Refusal::kLoop : Refusal::kNone; }
    base::Result<void> on_input(std::span<const uint8_t> bytes) override { return session_->feed(bytes); }
    void on_stream_end() override { session_->close(); }
    base::Slice take_output() override;

  private:
    base::Result<void> ask(std::unique_ptr<runtime::ByteStream>& socket, runtime::Deadline limit);

    // ClientHandler
    void on_ready() override {}
    base::Result<void> on_media(::rtmp::Message&) override { return {}; }
    void on_status(std::string_view code, std::string_view description) override;

    RtmpLinkOptions options_;  // with the target that it was redirected to
    std::unique_ptr<::rtmp::ClientSession> session_;
    bool is_loop_ = false;
};

}  // namespace service::relay
