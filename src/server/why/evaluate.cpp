#include "server/why/evaluate.h"

#include <algorithm>

#include "server/why/protocols.h"

namespace server::why {

bool is_host_name(std::string_view name) {
    constexpr size_t kMaxBytes = 255;
    return !name.empty() && name.size() <= kMaxBytes && std::ranges::all_of(name, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               std::string_view(".-_:").find(c) != std::string_view::npos;
    });
}

Findings evaluate(const Facts& facts) {
    Findings findings;
    check_addresses(facts, findings);
    if (!check_vhost(facts, findings)) return findings;
    const config::Vhost* vhost = facts.snapshot.vhost(facts.target.vhost);
    if (!vhost) return findings;
    check_access(facts, *vhost, findings);
    for_each_part([&](const service::url::Part& part) {
        if (part.check_client) part.check_client(facts, *vhost, findings);
    });
    check_stream(facts, *vhost, findings);
    return findings;
}

}  // namespace server::why
