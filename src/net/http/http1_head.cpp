#include "net/http/http1_head.h"

#include "base/clock.h"
#include "protocol/http/date.h"
#include "protocol/http/response_head.h"

namespace net {

int64_t date_second() { return base::wall_ms() / 1000; }

// Written once in a second.
const std::string& date_of_now() {
    static int64_t second = -1;
    static std::string text;
    const int64_t now = date_second();
    if (now != second) text = http::format_date(second = now);
    return text;
}

std::string write_http1_head(const Http1Head& head, std::span<const std::pair<std::string, std::string>> fields) {
    http::HeadWriter out(head.status);
    out.field("Date", date_of_now()).field("Server", head.server_name);
    if (!head.content_type.empty()) out.field("Content-Type", head.content_type);
    if (head.length && !has_no_body(head.status)) out.field("Content-Length", *head.length);
    if (head.chunked) out.field("Transfer-Encoding", "chunked");
    for (const auto& [name, value] : fields) out.field(name, value);
    if (head.crossdomain) {
        out.lines("Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: ");
        out.lines(kExposedFields).lines("\r\n");
    }
    out.lines(head.keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n");
    return out.finish();
}

}  // namespace net
