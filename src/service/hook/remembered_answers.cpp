#include "service/hook/remembered_answers.h"

#include "base/record_lines.h"
#include "net/access/hmac.h"

namespace service::hook {

std::string RememberedAnswers::key_of(Hook hook, const std::string& url, const net::Visitor& v) {
    return net::hmac_sha256_hex(
        "", base::record_line({hook_name(hook), url, v.vhost, v.app, v.stream, v.param, v.ip, v.tc_url, v.page_url}));
}

void RememberedAnswers::admitted(const std::string& key, const Answer& answer, int64_t now_ms) {
    refused(key);
    if (entries_.size() >= kMax) refused(std::string(*order_.front()));
    const auto at = entries_.try_emplace(key, Entry{answer, now_ms, {}}).first;
    at->second.order = order_.insert(order_.end(), &at->first);
}

void RememberedAnswers::refused(const std::string& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    order_.erase(found->second.order);
    entries_.erase(found);
}

std::optional<Answer> RememberedAnswers::find(const std::string& key, int64_t now_ms) {
    const auto found = entries_.find(key);
    if (found == entries_.end() || now_ms - found->second.admitted_ms > kMaxAgeMs) return std::nullopt;
    order_.splice(order_.end(), order_, found->second.order);
    return found->second.answer;
}

}  // namespace service::hook
