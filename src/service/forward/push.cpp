#include "service/forward/push.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "service/forward/udp_link.h"
#include "service/relay/rtmp_link.h"

namespace service::forward {

Push::Push(relay::SinkOwner& owner, Shared& shared, base::Ref<live::Stream> stream, Target target, std::string path)
    : SinkRunner(owner, {.log_name = "forward", .longest_pause_ms = 10'000, .gives_up_loops = true}, std::move(stream),
                 std::move(path)),
      shared_(shared),
      target_(std::move(target)) {}

base::Result<std::unique_ptr<PushLink>> Push::make_link(const std::string&) {
    if (target_.rtmp)
        return std::make_unique<relay::RtmpLink>(relay::RtmpLinkOptions{.log_name = "forward",
                                                                        .session_type = net::SessionType::kRtmpForward,
                                                                        .target = *target_.rtmp,
                                                                        .path = path(),
                                                                        .tls = &shared_.tls});
    const base::Ref<live::Stream> published(&stream());
    if (target_.udp) return std::make_unique<UdpLink>(shared_.udp_targets, *target_.udp, target_.shown, published);
    const std::string_view scheme = std::string_view(target_.text).substr(0, target_.text.find(':'));
    for (const PushOffer& offer : shared_.links)
        if (std::ranges::find(offer.schemes, scheme) != offer.schemes.end())
            return offer.make({.stream = published,
                               .url = target_.text,
                               .shown = target_.shown,
                               .path = path(),
                               .tls = &shared_.tls});
    return base::fail(base::Code::kOther, fmt::format("this server does not publish by {}", scheme));
}

}  // namespace service::forward
