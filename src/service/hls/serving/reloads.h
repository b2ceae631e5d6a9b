#pragma once
// Reloads: requests for a playlist that wait until it has a certain part or segment (draft-pantos-hls-rfc8216bis,
// 6.2.5.2), of one rendition. They have no coroutine, and thousands are answered with one text. How many may wait is
// limited by net::HttpResponse::defer().

#include <map>
#include <memory>

#include "net/http/answers.h"
#include "protocol/m3u8/directives.h"
#include "service/hls/serving/view.h"

namespace service::hls {

// How long a request waits for what comes next, ms (6.2.5.2): three target durations.
constexpr int64_t wait_ms(int64_t target_s) { return 3 * target_s * 1'000; }

class Reloads {
  public:
    // waker: must outlive it.
    explicit Reloads(net::DeferredWaker& waker) : waker_(waker) {}

    // No request waits.
    bool empty() const { return waiting_.empty(); }
    // A request, to be deferred, that is answered once the playlist has the part.
    std::unique_ptr<net::Deferred> await(const m3u8::PartPosition& part, PlaylistForm form);
    // The playlist has gone on, or has ended: answers those that it has something for.
    void changed(const std::shared_ptr<const View>& view);
    // There is no playlist any more: 404 for all.
    void end();

    // Serves the playlist as the request's directives say: at once, or by deferring it.
    base::Result<void> serve(const View& view, PlaylistForm form, const net::HttpRequest& request,
                             net::HttpResponse& response);

  private:
    struct Waiting;

    net::DeferredWaker& waker_;
    std::map<m3u8::PartPosition, net::DeferredList> waiting_;
};

}  // namespace service::hls
