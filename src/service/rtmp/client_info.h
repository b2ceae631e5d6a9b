#pragma once
// What a client told of itself that later requests, hooks and the API need, in one allocation: there may be 10,000.

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string_view>

namespace service::rtmp {

class ClientInfo {
  public:
    ClientInfo() = default;
    ClientInfo(std::string_view app, std::string_view tc_url, std::string_view page_url, std::string_view swf_url,
               std::string_view forward_path = {});

    std::string_view app() const { return field(0); }
    std::string_view tc_url() const { return field(1); }
    std::string_view page_url() const { return field(2); }
    std::string_view swf_url() const { return field(3); }
    // "?k=v" of the last published or played stream.
    std::string_view params() const { return field(4); }
    void set_params(std::string_view params);
    std::string_view forward_path() const { return field(5); }

  private:
    std::string_view field(size_t index) const;
    void set(std::initializer_list<std::string_view> fields);
    std::unique_ptr<char[]> text_;  // the fields, a 0 behind each
};

}  // namespace service::rtmp
