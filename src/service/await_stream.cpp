#include "service/await_stream.h"

#include "base/log.h"

namespace service {

using base::CloseReason;
using base::fail;
using base::Result;

namespace {

std::string_view reason_of(Fetching fetching) {
    switch (fetching) {
        case Fetching::kRefused:
            return "the server that it is fetched from does not give the stream";
        case Fetching::kAsked:
            return "the stream did not come from the server that it is fetched from";
        case Fetching::kNever:
            break;
    }
    return "the stream is not published";
}

}  // namespace

Result<void> await_stream(live::Stream& stream, const StreamWait& wait) {
    if (stream.published()) return {};
    auto share = wait.sessions.waiting().take(wait.ip, 0);
    if (!share) {
        wait.sessions.log_refusal("waiting player", wait.ip, share.error());
        return fail(CloseReason::kNotFound, "too many players wait for streams");
    }
    base::log::trace("a player waits: {} for {}", stream.key().text(), wait.ip);
    const auto fetching = [&] { return wait.offers.fetching(stream.key()); };
    const auto may_wait = [&] {
        if (wait.may_wait && !wait.may_wait()) return false;
        return wait.for_publisher || fetching() == Fetching::kAsked;
    };
    auto waited =
        stream.await(live::Awaited::kPublished, runtime::Deadline::in_ms(wait.limit_ms), {wait.client, may_wait});
    if (waited || waited.error().code() == base::Code::kCancelled) return waited;
    return fail(CloseReason::kNotFound, std::string(reason_of(fetching())));
}

}  // namespace service
