#include "service/forward/push.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "service/relay/rtmp_link.h"

namespace service::forward {

Push::Push(relay::SinkOwner& owner, ClientTls& tls, const std::vector<PushOffer>& links, base::Ref<live::Stream> stream,
           Target target, std::string path)
    : SinkRunner(owner, {.log_name = "forward", .longest_pause_ms = 10'000, .gives_up_loops = true}, std::move(stream),
                 std::move(path)),
      tls_(tls),
      links_(links),
      target_(std::move(target)) {}

base::Result<std::unique_ptr<PushLink>> Push::make_link(const std::string&) {
    if (target_.rtmp)
        return std::make_unique<relay::RtmpLink>(relay::RtmpLinkOptions{.log_name = "forward",
                                                                        .session_type = net::SessionType::kRtmpForward,
                                                                        .target = *target_.rtmp,
                                                                        .path = path(),
                                                                        .tls = &tls_});
    const std::string_view scheme = std::string_view(target_.text).substr(0, target_.text.find(':'));
    for (const PushOffer& offer : links_)
        if (std::ranges::find(offer.schemes, scheme) != offer.schemes.end())
            return offer.make({.stream = base::Ref<live::Stream>(&stream()),
                               .url = target_.text,
                               .shown = target_.shown,
                               .path = path(),
                               .tls = &tls_});
    return base::fail(base::Code::kOther, fmt::format("this server does not publish by {}", scheme));
}

}  // namespace service::forward
