#include "net/http/representation.h"

namespace net {

base::Result<bool> check_conditions(const Representation& what, const HttpRequest& request, HttpResponse& response,
                                    const std::function<void()>& before) {
    const http::Headers& fields = request.message.headers;
    if (http::precondition_failed(fields, what.validators)) {
        TRY(response.send_error(412));
        return false;
    }
    response.header("ETag", what.validators.etag).header("Last-Modified", what.last_modified);
    if (before) before();
    if (!http::not_modified(fields, what.validators)) return true;
    TRY(response.send(304, {}, {}));
    return false;
}

base::Result<void> send_wanted(const Representation& what, std::string_view content_type, const HttpRequest& request,
                               HttpResponse& response, const std::function<FileParts(const http::ByteRange&)>& parts,
                               const std::optional<std::string>& wanted) {
    response.header("Accept-Ranges", "bytes");
    const http::Headers& fields = request.message.headers;
    http::RangeResult range;
    if (wanted)
        range = http::parse_range(*wanted, what.size);
    else if (http::range_applies(fields, what.validators))
        range = http::parse_range(fields.get("Range"), what.size);
    if (range.kind == http::RangeResult::Kind::kUnsatisfiable) {
        response.header("Content-Range", http::content_range_unsatisfied(what.size));
        return response.send_error(416);
    }
    const bool is_part = range.kind == http::RangeResult::Kind::kPart;
    if (is_part)
        response.header("Content-Range", http::content_range(range.range, what.size));
    else
        range.range = {0, what.size};
    return response.send_files(is_part ? 206 : 200, content_type,
                               range.range.length > 0 ? parts(range.range) : FileParts());
}

}  // namespace net
