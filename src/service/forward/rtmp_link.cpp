#include "service/forward/rtmp_link.h"

#include <utility>

#include "base/log.h"
#include "convert/flv/to_rtmp.h"
#include "protocol/rtmp/server_session.h"
#include "service/rtmp_dial.h"

namespace service::forward {

using base::Result;
using runtime::Deadline;

RtmpLink::RtmpLink(PushRequest request, ::rtmp::Url url) : request_(std::move(request)), url_(std::move(url)) {}

Result<PushLink::Ready> RtmpLink::begin(Deadline limit) {
    auto socket = TRY(dial_rtmp(url_, *request_.tls, limit, limit));
    if (auto asked = ask(*socket, limit); !asked) {
        is_loop_ = asked.error().text().find(::rtmp::kForwardLoop) != std::string::npos;
        return std::unexpected(std::move(asked.error()));
    }
    const convert::RtmpParameters parameters{
        .stream_id = session_->stream_id(), .all_tracks = session_->peer_multitrack(), .publish = true};
    return Ready{.key = parameters.key(), .socket = std::move(socket), .first_bytes = take_output()};
}

Result<void> RtmpLink::ask(runtime::ByteStream& socket, Deadline limit) {
    ::rtmp::ClientOptions options;
    options.publish = true;
    options.forward_path = request_.path;
    session_ = std::make_unique<::rtmp::ClientSession>(static_cast<::rtmp::ClientHandler&>(*this), url_, options,
                                                       kRtmpHandshakeBytes);
    return await_ready(*session_, socket, "asking to publish", limit);
}

base::Slice RtmpLink::take_output() { return base::Slice::copy(std::exchange(session_->output(), {})); }

void RtmpLink::on_status(std::string_view code, std::string_view description) {
    base::log::info("forward: {}:{} says {} ({})", url_.host, url_.port, code, description);
}

}  // namespace service::forward
