#pragma once
// Requests about clients of the process that this one has replaced (service/other_process.h), which only that one can
// answer: they are passed on to it, and its answer to the client.

#include <string>

#include "net/http/http_exchange.h"
#include "service/shared_parts.h"

namespace service {

// Whether there is such a process, and the request is not one that it has passed on itself.
bool has_earlier_process(const Offers& offers, const net::HttpRequest& request);

// With the request's body, its fields about WHIP, WHEP and parts of files, and the client's address. False: nothing was
// sent, because there is no such process, or it has gone. Where it does not answer in time, or with more than
// OtherRequest::kMaxBody, the client gets 503. The caller has checked what the client may do. Yields.
struct PassOn {
    OtherRequest::Router router;
    http::Method method;
    std::string target;
    int64_t within_ms = 1'000;
    bool sees_records = false;  // net::evaluate_records()
};
base::Result<bool> pass_on(const Offers& offers, PassOn what, const net::HttpRequest& request,
                           net::HttpResponse& response);

}  // namespace service
