#include "service/relay/outgoing_session.h"

#include <utility>

#include "base/clock.h"

namespace service::relay {

// The session has a past: it is not counted as a client that was accepted.
OutgoingSession::OutgoingSession(net::SessionTable& table, Facts facts, Connection connection)
    : net::Session(table, facts.id, facts.ip, Past{base::wall_ms()}),
      facts_(std::move(facts)),
      connection_(std::move(connection)) {
    if (facts_.is_with_other_process) connects_processes();
    not_a_connection();
    set_type(facts_.type);
    enter_stream(facts_.stream, net::publishes(facts_.type));
}

}  // namespace service::relay
