#include "service/api/listing.h"

#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "base/redaction.h"

namespace service::api {

ListWriter::ListWriter(const Identity& identity, std::string_view name) : text_(base::to_text(envelope(identity))) {
    text_.pop_back();
    text_ += fmt::format(",\"{}\":[", name);
}

base::Result<void> ListWriter::add(const Json& item) {
    if (!text_.ends_with('[')) text_ += ',';
    text_ += base::to_text(item);
    return next();
}

base::Result<void> ListWriter::next() {
    if (text_.size() >= kPieceBytes) {
        // The last character is kept: it determines whether a comma is needed.
        const char last = text_.back();
        text_.pop_back();
        pieces_.push_back(std::exchange(text_, std::string()));
        text_.reserve(kPieceBytes + kPieceBytes / 8);
        text_ += last;
    }
    return slice_.step();
}

base::Result<void> ListWriter::send(net::HttpResponse& response, size_t total, std::string_view more) {
    text_ += fmt::format("],\"total\":{}{}}}", total, more);
    if (pieces_.empty()) return response.send(200, "application/json", text_);
    pieces_.push_back(std::move(text_));
    uint64_t bytes = 0;
    for (std::string& piece : pieces_) {
        // No text goes from one piece to the next.
        if (response.hides_secrets() && base::has_secrets(piece)) piece = base::redact(piece);
        bytes += piece.size();
        TRY(slice_.step());
    }
    TRY(response.begin(200, "application/json", bytes));
    for (const std::string& piece : pieces_) {
        TRY(response.write(std::string_view(piece)));
        TRY(slice_.step());
    }
    return response.end();
}

}  // namespace service::api
