#include "service/rtmp/client_info.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <new>
#include <string>

namespace service::rtmp {

namespace {

// Of those with the same hash the last one is remembered.
constexpr size_t kRemembered = 64;
constexpr size_t kMaxRememberedBytes = 512;  // of one: longer ones are one client's

// A 0 within a field becomes another byte that no name may have.
char without_zero(char c) { return c == '\0' ? '\1' : c; }

}  // namespace

base::Ref<ClientInfo::Words> ClientInfo::Words::make(std::string_view text) {
    auto* words = new (::operator new(sizeof(Words) + text.size())) Words;
    words->size = text.size();
    std::ranges::copy(text, reinterpret_cast<char*>(words + 1));
    return base::Ref<Words>(words);
}

base::Ref<ClientInfo::Words> ClientInfo::find_or_make(std::string_view text) {
    static std::array<base::Ref<Words>, kRemembered> recent;
    if (text.size() > kMaxRememberedBytes) return Words::make(text);
    base::Ref<Words>& known = recent[std::hash<std::string_view>()(text) % kRemembered];
    if (!known || std::string_view(known->text(), known->size) != text) known = Words::make(text);
    return known;
}

ClientInfo::ClientInfo(std::string_view app, std::string_view tc_url, std::string_view page_url,
                       std::string_view swf_url, std::string_view forward_path) {
    std::string text;
    for (std::string_view field : {app, tc_url, page_url, swf_url, forward_path}) {
        std::ranges::transform(field, std::back_inserter(text), without_zero);
        text += '\0';
    }
    words_ = find_or_make(text);
}

std::string_view ClientInfo::field(size_t index) const {
    if (!words_) return {};
    const char* at = words_->text();
    while (index-- > 0) at += std::string_view(at).size() + 1;
    return at;
}

void ClientInfo::set_params(std::string_view params) {
    if (params == this->params()) return;
    params_ = params.empty() ? nullptr : std::make_unique_for_overwrite<char[]>(params.size() + 1);
    if (params_) *std::ranges::transform(params, params_.get(), without_zero).out = '\0';
}

}  // namespace service::rtmp
