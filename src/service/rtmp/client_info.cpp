#include "service/rtmp/client_info.h"

#include <algorithm>
#include <initializer_list>

namespace service::rtmp {

namespace {

// A 0 within a field becomes another byte that no name may have.
void append_field(std::string& text, std::string_view field) {
    size_t begin = text.size();
    text += field;
    std::replace(text.begin() + static_cast<ptrdiff_t>(begin), text.end(), '\0', '\1');
    text += '\0';
}

}  // namespace

ClientInfo::ClientInfo(std::string_view app, std::string_view tc_url, std::string_view page_url,
                       std::string_view swf_url) {
    text_.reserve(app.size() + tc_url.size() + page_url.size() + swf_url.size() + 5);
    for (std::string_view f : {app, tc_url, page_url, swf_url, std::string_view()}) append_field(text_, f);
}

std::string_view ClientInfo::field(size_t index) const {
    std::string_view rest = text_;
    if (rest.empty()) return {};
    while (index-- > 0) rest.remove_prefix(rest.find('\0') + 1);
    return rest.substr(0, rest.find('\0'));
}

void ClientInfo::set_params(std::string_view params) {
    if (text_.empty() || params == this->params()) return;
    text_.resize(static_cast<size_t>(this->params().data() - text_.data()));
    append_field(text_, params);
}

}  // namespace service::rtmp
