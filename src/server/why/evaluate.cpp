#include "server/why/evaluate.h"

#include "server/why/protocols.h"

namespace server::why {

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
