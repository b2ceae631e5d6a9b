#include "service/api/lists/listing.h"

#include <fmt/format.h>

#include <utility>

#include "base/redaction.h"

namespace service::api {

ListWriter::ListWriter(const Identity& identity, std::string_view name) : text_(base::to_text(envelope(identity))) {
    text_.pop_back();
    text_ += fmt::format(",\"{}\":[", name);
}

base::Result<void> ListWriter::add(const Json& entry) {
    if (!std::exchange(is_first_, false)) text_ += ',';
    text_ += base::to_text(entry);
    if (text_.size() >= kPieceBytes) {
        pieces_.push_back(std::exchange(text_, std::string()));
        text_.reserve(kPieceBytes + kPieceBytes / 8);
    }
    return slice_.step();
}

base::Result<void> ListWriter::send(net::HttpResponse& response, const Json& more) {
    text_ += "]," + base::to_text(more).substr(1);
    if (response.rewrites_json()) {
        std::string all;
        for (const std::string& piece : std::exchange(pieces_, {})) all += piece;
        text_ = all + text_;
    }
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
