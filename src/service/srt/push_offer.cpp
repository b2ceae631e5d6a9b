#include "service/srt/push_offer.h"

#include <utility>

#include "service/relay/srt_link.h"

namespace service::srt {

net::SessionType srt_forward_type() {
    static const net::SessionType kType = net::SessionType::add("srt-forward", false);
    return kType;
}

PushOffer push_offer() {
    return {.schemes = {"srt"}, .make = [](PushRequest request) -> base::Result<std::unique_ptr<PushLink>> {
                relay::SrtTarget target{TRY(::srt::parse_url(request.url)), std::move(request.shown)};
                return std::make_unique<relay::SrtLink>(relay::SrtLinkOptions{
                    .session_type = srt_forward_type(), .target = std::move(target), .stream = request.stream});
            }};
}

}  // namespace service::srt
