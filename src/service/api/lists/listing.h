#pragma once
// Lists in answers: List reads ?start=, ?count=, ?search= and ?sort= of the request, keeps the entries of the page, and
// sends them with their total. ListWriter writes the answer: entries are serialized one at a time, so that a long list
// neither blocks the loop nor is held in memory as a tree.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "runtime/loop/cpu_slice.h"
#include "service/api/lists/search.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class ListWriter {
  public:
    ListWriter(const Identity& identity, std::string_view name);
    ListWriter(const ListWriter&) = delete;
    base::Result<void> add(const Json& entry);  // yields now and then
    // more: an object of the fields that follow the list.
    base::Result<void> send(net::HttpResponse& response, const Json& more);

  private:
    // A text that grows to hundreds of kB would be copied each time it doubles, into memory that the kernel has to
    // provide.
    static constexpr size_t kPieceBytes = 64 * 1024;
    std::vector<std::string> pieces_;
    std::string text_;  // the text after the pieces
    bool is_first_ = true;
    runtime::CpuSlice slice_;
};

// Row: what an entry is sorted by and found again by; its JSON is made when the answer is written.
template <class Row>
class List {
  public:
    // request, identity and columns must outlive it. Without columns there is no ?sort=.
    List(const net::HttpRequest& request, const Identity& identity, std::string_view name,
         std::span<const Column<Row>> columns = {})
        : identity_(identity),
          name_(name),
          columns_(columns),
          page_(page_of(request)),
          search_(request.message.parameter("search")) {
        if (!columns.empty())
            sort_ = parse_sort(http::find_parameter(request.message.parameters, "sort"), names_of(columns));
    }

    // The next entry of the whole list, and the texts that ?search= finds it by. Yields now and then.
    base::Result<void> add(Row row, std::initializer_list<std::string_view> texts = {}) {
        if (texts.size() == 0 || search_.matches(texts)) {
            if (sort_.order || page_.has(total_)) rows_.push_back(std::move(row));
            ++total_;
        }
        return skip();
    }
    // Which entries of another list, whose entries follow those that were added, or are sorted with them, the page
    // needs; and these, with the number of all that match.
    struct Needed {
        size_t start, count;
    };
    Needed needed() const {
        if (sort_.order) return {0, page_.start + page_.count};
        return {page_.start - std::min(page_.start, total_), page_.count - std::min(page_.count, rows_.size())};
    }
    void add_others(std::vector<Row> rows, size_t total) {
        std::ranges::move(rows, std::back_inserter(rows_));
        total_ += total;
    }
    // Something that is no entry of the list. Yields now and then.
    base::Result<void> skip() { return slice_.step(); }
    size_t total() const { return total_; }

    // write(row): the entry's JSON; null: it has gone meanwhile, and is left out. more: fields after the total. A
    // ?sort= by another column is answered with status 400. Yields.
    template <class Write>
    base::Result<void> send(net::HttpResponse& response, const Write& write, const Json& more = Json::object()) {
        if (!sort_.valid) return send_failure(response, identity_, 400, unknown_column(names_of(columns_)));
        if (sort_.order) cut_page(rows_, page_, columns_[sort_.order->column].less, sort_.order->descending);
        ListWriter writer(identity_, name_);
        for (const Row& row : rows_) {
            const Json entry = write(row);
            if (!entry.is_null()) TRY(writer.add(entry));
        }
        Json after = {{"total", total_}};
        after.update(more);
        return writer.send(response, after);
    }

  private:
    const Identity& identity_;
    const std::string_view name_;
    const std::span<const Column<Row>> columns_;
    const Page page_;
    const Search search_;
    SortParameter sort_;
    std::vector<Row> rows_;  // all that match where they are sorted, else those of the page
    size_t total_ = 0;       // that match
    // Number of entries between two checks of the clock: most of them cost little.
    runtime::CpuSlice slice_{64};
};

}  // namespace service::api
