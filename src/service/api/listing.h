#pragma once
// A list in an answer, and its total. It is serialized one item at a time, so that a long list neither blocks the loop
// nor is held in memory as a tree.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/loop/cpu_slice.h"
#include "service/api/endpoint.h"
#include "service/api/envelope.h"
#include "service/api/json_text.h"

namespace service::api {

class ListWriter {
  public:
    ListWriter(const Identity& identity, std::string_view name);
    ListWriter(const ListWriter&) = delete;
    // For an item written as text: text() takes one object, followed by next(), which yields now and then.
    JsonText& text() { return json_; }
    base::Result<void> next();
    base::Result<void> add(const Json& item);  // also yields now and then
    // more: further fields, as JSON text with a comma before each.
    base::Result<void> send(net::HttpResponse& response, size_t total, std::string_view more = {});

  private:
    // A text that grows to hundreds of kB would be copied each time it doubles, into memory that the kernel has to
    // provide.
    static constexpr size_t kPieceBytes = 64 * 1024;
    std::vector<std::string> pieces_;
    std::string text_;  // the text after the pieces
    JsonText json_{text_};
    runtime::CpuSlice slice_;
};

}  // namespace service::api
