#include "service/srt/session.h"

#include <fmt/core.h>

#include <utility>

#include "runtime/loop/coroutine.h"

namespace service::srt {

using base::CloseReason;

Session::Session(SessionHost& host, net::SessionTable& table, net::SessionType type, bool publishes,
                 AdmittedCaller& caller)
    : net::Session(table, caller.id, caller.caller.from.ip.text()),
      host_(host),
      caller_(caller.caller),
      answer_(std::move(caller.answer)),
      snapshot_(std::move(caller.snapshot)),
      vhost_(*caller.vhost),
      stream_(std::move(caller.stream)),
      grant_(std::move(caller.grant)),
      tc_url_(std::move(caller.tc_url)),
      params_(std::move(caller.params)),
      path_(std::move(caller.path)) {
    set_type(type);
    enter_stream(stream_->key(), publishes);
}

void Session::set_channel(relay::SrtChannel& channel) {
    channel_ = &channel;
    const uint32_t version = connection().agreement().peer_version;
    set_agent(fmt::format("SRT {}.{}.{}", version >> 16, version >> 8 & 255, version & 255));
}

net::SessionFigures Session::figures() const {
    net::SessionFigures figures;
    if (!channel_) return figures;
    if (const ::srt::Sender* sender = connection().sender()) {
        figures.lost = sender->counters().lost;
        figures.retransmitted = sender->counters().repairs;
        figures.dropped = sender->counters().dropped;
    } else {
        figures.lost = connection().receiver()->counters().lost;
        figures.retransmitted = connection().receiver()->counters().retransmitted;
        figures.dropped = connection().receiver()->counters().skipped;
    }
    return figures;
}

net::ClientDetails Session::details() const { return {.tc_url = tc_url_, .params = params_}; }

void Session::on_datagram(std::span<uint8_t> datagram, int64_t now_us) {
    // It knows our id, so it has the answer.
    if (!ended() && !answer_.empty()) std::vector<uint8_t>().swap(answer_);
    channel_->on_datagram(datagram, now_us);
}

void Session::on_channel_end(std::string_view why, CloseReason reason) {
    set_close_reason(reason);
    end_text_ = why;
    host_.end_soon(*this);
}

void Session::close() {
    const runtime::ContextScope context(id());
    keep_figures();
    channel_->close();
    on_close();
    log_end(end_text_, CloseReason::kUnknown);
    grant_.end(traffic());
}

}  // namespace service::srt
