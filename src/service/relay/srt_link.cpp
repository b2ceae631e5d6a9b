#include "service/relay/srt_link.h"

#include <utility>

#include "runtime/loop/coroutine.h"

namespace service::relay {

using base::CloseReason;
using base::Result;
using runtime::Deadline;

SrtLink::~SrtLink() {
    call_.detach();
    if (output_) output_->close();
}

Result<PushLink::Ready> SrtLink::begin(Deadline limit) {
    id_ = runtime::context_id();
    const auto make = [this](const SrtCall::Connected& with) -> SrtChannel& {
        return output_.emplace(static_cast<SrtChannelOwner&>(*this), with.peer, with.agreement, with.keys,
                               *options_.stream,
                               SrtOutputOptions{.idle_timeout_ms = SrtCall::kIdleMs, .is_player = false});
    };
    auto connected = call_.connect(options_.target, make, limit);
    if (!connected) {
        if (connected.error().close_reason() == CloseReason::kRefusedAuth) refusal_ = Refusal::kCredentials;
        if (call_.refusal() == ::srt::Refusal::kLoop) refusal_ = Refusal::kLoop;
        return std::unexpected(std::move(connected).error());
    }
    Ready ready;
    ready.detail = output_->describe();
    ready.sender = this;
    return ready;
}

void SrtLink::start(PacketSenderUser& user) {
    user_ = &user;
    if (output_->ended()) user_->on_sender_end(end_text_, end_reason_);
}

void SrtLink::on_channel_end(std::string_view why, CloseReason reason) {
    end_text_ = why;
    end_reason_ = reason;
    if (user_) user_->on_sender_end(why, reason);
}

}  // namespace service::relay
