#include "service/api/listing.h"

#include <fmt/format.h>

#include <utility>

#include "base/json.h"

namespace service::api {

base::Result<std::optional<Page>> page_of(const net::HttpRequest& request, net::HttpResponse& response,
                                          const Identity& identity) {
    const auto start = number_parameter(request, "start", 0, 0, Page::kMaxStart);
    const auto count = number_parameter(request, "count", 10, 1, Page::kMaxCount);
    if (start && count) return Page{static_cast<size_t>(*start), static_cast<size_t>(*count)};
    TRY(send_failure(response, identity, 400,
                     fmt::format("start is a whole number from 0 on, count one from 1 to {}", Page::kMaxCount)));
    return std::optional<Page>();
}

std::vector<Parameter> page_parameters() {
    using enum Parameter::In;
    using enum Parameter::Type;
    return {{kQuery, "start", kInteger, "how many to pass over", 0, Page::kMaxStart, 0},
            {kQuery, "count", kInteger, "how many at most", 1, Page::kMaxCount, 10}};
}

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
    for (const std::string& piece : pieces_) bytes += piece.size();
    TRY(response.begin(200, "application/json", bytes));
    for (const std::string& piece : pieces_) {
        TRY(response.write(std::string_view(piece)));
        TRY(slice_.step());
    }
    return response.end();
}

}  // namespace service::api
