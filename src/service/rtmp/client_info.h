#pragma once
// What a client told of itself that later requests, hooks and the API need. There may be 10,000, of which most say the
// same at connect: a small cache lets them share the words. What came with a stream's name is each one's own.

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/ref.h"

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
    std::string_view forward_path() const { return field(4); }
    // "?k=v" of the last published or played stream.
    std::string_view params() const { return params_ ? std::string_view(params_.get()) : std::string_view(); }
    void set_params(std::string_view params);

  private:
    // One allocation: the fields lie behind it, a 0 behind each.
    struct Words : base::RefCounted<Words> {
        static base::Ref<Words> make(std::string_view text);
        static void operator delete(void* object) { ::operator delete(object); }
        const char* text() const { return reinterpret_cast<const char*>(this + 1); }
        size_t size = 0;
    };
    static base::Ref<Words> find_or_make(std::string_view text);
    std::string_view field(size_t index) const;

    base::Ref<Words> words_;
    std::unique_ptr<char[]> params_;
};

}  // namespace service::rtmp
