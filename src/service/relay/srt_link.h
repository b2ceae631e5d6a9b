#pragma once
// SrtLink: publishes a stream to another server by SRT, which this server calls.

#include <memory>
#include <optional>
#include <string>

#include "net/sessions/session_type.h"
#include "service/push_link.h"
#include "service/relay/srt_call.h"
#include "service/relay/srt_output.h"

namespace service::relay {

struct SrtLinkOptions {
    net::SessionType session_type = net::SessionType::kNone;
    SrtTarget target{};
    base::Ref<live::Stream> stream{};
};

class SrtLink final : public PushLink, private PacketSender, private SrtChannelOwner {
  public:
    explicit SrtLink(SrtLinkOptions options) : options_(std::move(options)) {}
    ~SrtLink() override;  // yields

    net::SessionType session_type() const override { return options_.session_type; }
    const std::string& shown_url() const override { return options_.target.shown; }
    base::Result<Ready> begin(runtime::Deadline limit) override;
    Refusal refusal() const override { return refusal_; }

  private:
    // PacketSender
    std::string peer_ip() const override { return call_.peer_ip(); }
    void start(PacketSenderUser& user) override;
    void finish() override { output_->finish(); }
    void abort(std::string_view why, base::CloseReason reason) override { output_->end(why, reason); }
    net::Traffic traffic() const override { return output_->traffic(); }
    std::optional<net::SrtQuality> srt_quality() const override { return output_->quality(); }
    // SrtChannelOwner
    const std::string& channel_id() const override { return id_; }
    void on_channel_end(std::string_view why, base::CloseReason reason) override;
    void on_channel_second(int64_t) override {}

    SrtLinkOptions options_;
    std::string id_;  // of the log
    Refusal refusal_ = Refusal::kNone;
    PacketSenderUser* user_ = nullptr;
    std::string end_text_;  // of an end before start()
    base::CloseReason end_reason_ = base::CloseReason::kUnknown;
    SrtCall call_;
    std::optional<SrtOutput> output_;  // from the accepted handshake on
};

}  // namespace service::relay
