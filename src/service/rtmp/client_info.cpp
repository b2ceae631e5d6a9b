#include "service/rtmp/client_info.h"

#include <algorithm>

namespace service::rtmp {

ClientInfo::ClientInfo(std::string_view app, std::string_view tc_url, std::string_view page_url,
                       std::string_view swf_url, std::string_view forward_path) {
    set({app, tc_url, page_url, swf_url, {}, forward_path});
}

void ClientInfo::set(std::initializer_list<std::string_view> fields) {
    size_t size = 0;
    for (std::string_view f : fields) size += f.size() + 1;
    auto text = std::make_unique_for_overwrite<char[]>(size);
    char* at = text.get();
    for (std::string_view f : fields) {
        // A 0 within a field becomes another byte that no name may have.
        at = std::replace_copy(f.begin(), f.end(), at, '\0', '\1');
        *at++ = '\0';
    }
    text_ = std::move(text);
}

std::string_view ClientInfo::field(size_t index) const {
    if (!text_) return {};
    const char* at = text_.get();
    while (index-- > 0) at += std::string_view(at).size() + 1;
    return at;
}

void ClientInfo::set_params(std::string_view params) {
    if (text_ && params != this->params()) set({app(), tc_url(), page_url(), swf_url(), params, forward_path()});
}

}  // namespace service::rtmp
