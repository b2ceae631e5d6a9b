#include "service/relay/rtmp_link.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "convert/flv/to_rtmp.h"
#include "protocol/rtmp/server_session.h"
#include "service/relay/dial.h"

namespace service::relay {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

Result<PushLink::Ready> RtmpLink::begin(Deadline limit) {
    for (int redirects = 0;; ++redirects) {
        std::unique_ptr<runtime::ByteStream> socket;
        auto asked = ask(socket, limit);
        if (asked) {
            const convert::RtmpParameters parameters{
                .stream_id = session_->stream_id(), .all_tracks = session_->peer_multitrack(), .publish = true};
            return Ready{.key = parameters.key(), .socket = std::move(socket), .first_bytes = take_output()};
        }
        const std::string location = session_ ? session_->location() : std::string();
        if (location.empty()) {
            is_loop_ = asked.error().text().find(::rtmp::kForwardLoop) != std::string::npos;
            return std::unexpected(std::move(asked.error()));
        }
        if (redirects == kMaxRedirects)
            return fail(Code::kProtocol, fmt::format("more than {} redirects", kMaxRedirects));
        // What a server says may have the secret of a name.
        std::string shown = std::move(options_.target.shown);
        options_.target = TRY(redirected(options_.target, location));
        options_.target.shown = std::move(shown);
    }
}

Result<void> RtmpLink::ask(std::unique_ptr<runtime::ByteStream>& socket, Deadline limit) {
    session_.reset();
    const ::rtmp::Url url = TRY(::rtmp::parse_url(options_.target.url));
    const Deadline connect_limit = options_.connect_ms > 0 ? Deadline::in_ms(options_.connect_ms) : limit;
    socket = TRY(dial_rtmp(url, *options_.tls, connect_limit, limit));
    ::rtmp::ClientOptions options;
    options.publish = true;
    options.forward_path = options_.path;
    options.tc_url = options_.target.tc_url;
    session_ = std::make_unique<::rtmp::ClientSession>(static_cast<::rtmp::ClientHandler&>(*this), url, options,
                                                       kRtmpHandshakeBytes);
    return await_ready(*session_, *socket, "asking to publish", limit);
}

base::Slice RtmpLink::take_output() { return base::Slice::copy(std::exchange(session_->output(), {})); }

void RtmpLink::on_status(std::string_view code, std::string_view description) {
    base::log::info("{}: {} says {} ({})", options_.log_name, shown_url(), code, description);
}

}  // namespace service::relay
