#pragma once
// JsonText: writes JSON incrementally, for answers with thousands of items; a tree of each would cost several times as
// much. Names are string literals of this program; texts may come from peers, and invalid UTF-8 in them is replaced.

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace service::api {

class JsonText {
  public:
    // out must outlive it.
    explicit JsonText(std::string& out) : out_(out) {}

    void open();                       // an object in a list
    void open(std::string_view name);  // an object in an object
    void close() { out_ += '}'; }
    void open_list(std::string_view name);  // of objects
    void close_list() { out_ += ']'; }

    void field(std::string_view name, std::string_view value);
    void field(std::string_view name, const char* value) { field(name, std::string_view(value)); }
    void field(std::string_view name, bool value) { raw(name, value ? "true" : "false"); }
    void field(std::string_view name, double value);
    void field(std::string_view name, std::integral auto value) {
        begin(name);
        const fmt::format_int digits(value);
        out_.append(digits.data(), digits.size());
    }
    void null(std::string_view name) { raw(name, "null"); }

  private:
    void begin(std::string_view name);
    void raw(std::string_view name, std::string_view value) {
        begin(name);
        out_ += value;
    }
    void separate();

    std::string& out_;
};

}  // namespace service::api
