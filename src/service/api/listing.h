#pragma once
// A list in an answer: the part that ?start= and ?count= ask for, and the total. It is written out as it is made, an
// item at a time, so that a long one neither holds up the loop nor stands in memory as a tree.

#include <optional>
#include <string>
#include <string_view>

#include "service/api/endpoint.h"
#include "service/api/envelope.h"

namespace service::api {

struct Page {
    static constexpr int64_t kMostStart = INT32_MAX;
    static constexpr int64_t kMostCount = 10'000;
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
    // Yields now and then.
    base::Result<void> add(const Json& item);
    base::Result<void> send(net::HttpResponse& response, size_t total);

  private:
    std::string text_;
    size_t items_ = 0;
};

}  // namespace service::api
