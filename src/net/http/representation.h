#pragma once
// Representation: what has a size and validators (RFC 9110, 8.8), in files or in memory: how requests for it are
// answered that have conditions (13) or ask for a range (14).

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "net/http/http_exchange.h"
#include "protocol/http/conditional.h"
#include "protocol/http/range.h"

namespace net {

struct Representation {
    uint64_t size = 0;
    http::Validators validators{};
    std::string_view last_modified{};  // as in the header field
};

// Whether the request's conditions let it be sent: sets the fields of the validators then. If not: sends 304 or 412.
// before: called before anything is sent but 412, to set further fields.
base::Result<bool> check_conditions(const Representation& what, const HttpRequest& request, HttpResponse& response,
                                    const std::function<void()>& before = {});

// Sends all of it, or the range that is wanted, or 416. wanted: instead of the request's Range field, and whatever its
// If-Range says. parts: where the bytes of a range are; it is not asked about none.
base::Result<void> send_wanted(const Representation& what, std::string_view content_type, const HttpRequest& request,
                               HttpResponse& response, const std::function<FileParts(const http::ByteRange&)>& parts,
                               const std::optional<std::string>& wanted = {});

}  // namespace net
