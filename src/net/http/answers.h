#pragma once
// Answers that are made before it is known how they are sent (deferred.h), and texts that clients may get compressed.

#include <cstdint>
#include <memory>
#include <string_view>

#include "net/http/deferred.h"
#include "net/http/http_exchange.h"

namespace net {

// 400, 404 or 503 with a small text page: caches keep it for a second.
AnswerPtr error_answer(int status, std::string_view text);
base::Result<void> send_answer(const PreparedAnswer& answer, HttpResponse& response);

// A request for what will be there soon: when its time is over it gets 503, as error_answer() has it.
struct AwaitingRequest : Deferred {
    AnswerPtr late_answer() const override;
};

// Lets the request wait, limit_ms at most. If too many do: 503.
base::Result<void> defer_or_refuse(std::unique_ptr<Deferred> deferred, int64_t limit_ms, HttpResponse& response);

bool wants_gzip(const HttpRequest& request);
// A text of some length is gzipped if the client accepts it.
base::Result<void> send_text(std::string_view content_type, std::string_view text, const HttpRequest& request,
                             HttpResponse& response);

}  // namespace net
