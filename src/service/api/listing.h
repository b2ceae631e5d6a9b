#pragma once
// A list in an answer: the part that ?start= and ?count= ask for, and the total. It is written out as it is made, an
// item at a time, so that a long one neither holds up the loop nor stands in memory as a tree.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/loop/cpu_slice.h"
#include "service/api/endpoint.h"
#include "service/api/envelope.h"
#include "service/api/json_text.h"

namespace service::api {

struct Page {
    static constexpr int64_t kMaxStart = INT32_MAX;
    static constexpr int64_t kMaxCount = 10'000;
    size_t start = 0;
    size_t count = 10;
    bool has(size_t index) const { return index >= start && index - start < count; }
};
// Nothing: one of them is no number, or out of bounds. It has been answered then.
base::Result<std::optional<Page>> page_of(const net::HttpRequest& request, net::HttpResponse& response,
                                          const Identity& identity);
// For the route table.
std::vector<Parameter> page_parameters();

class ListWriter {
  public:
    ListWriter(const Identity& identity, std::string_view name);
    ListWriter(const ListWriter&) = delete;
    // For an item that is written as text: text() takes one object, then next(), which yields now and then.
    JsonText& text() { return json_; }
    base::Result<void> next();
    base::Result<void> add(const Json& item);  // yields likewise
    base::Result<void> send(net::HttpResponse& response, size_t total);

  private:
    // A text that grows to hundreds of kB is copied each time it doubles, into memory that the kernel has to find.
    static constexpr size_t kPieceBytes = 64 * 1024;
    std::vector<std::string> pieces_;
    std::string text_;  // what comes behind them
    JsonText json_{text_};
    runtime::CpuSlice slice_;
};

}  // namespace service::api
