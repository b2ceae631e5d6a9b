#pragma once
// Growing: a segment of DASH that may be fetched before it is complete, or before it begins: its client gets the bytes
// as they are made. A client waits in its coroutine, of which a server has no more than it lets requests wait
// (max_waiting_requests).

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "net/http/http_exchange.h"
#include "runtime/loop/sync.h"
#include "service/hls/serving/index.h"

namespace service::hls {

struct Growing {
    Resource resource{};  // what there is of it
    bool is_complete = false;
    bool is_lost = false;
    runtime::Event changed{"bytes of a segment"};

    // Never yield.
    void grow(Resource more) {
        resource = std::move(more);
        changed.pulse();
    }
    void complete(Resource whole) {
        is_complete = true;
        grow(std::move(whole));
    }
    void lose() {
        is_lost = !is_complete;
        changed.pulse();
    }
};

// Waits until it has bytes; false: it has none within that time, or it is lost. Yields.
base::Result<bool> await_bytes(const std::shared_ptr<Growing>& segment, int64_t limit_ms, net::HttpResponse& response);

// Sends it while it grows: without a length, and whole whatever range is asked for. It breaks off if nothing comes for
// limit_ms, or if it is lost. Yields.
base::Result<void> serve_growing(const std::shared_ptr<Growing>& segment, const std::string& path, int64_t limit_ms,
                                 bool is_private, const net::HttpRequest& request, net::HttpResponse& response);

}  // namespace service::hls
