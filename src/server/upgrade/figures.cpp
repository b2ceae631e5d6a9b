#include "server/upgrade/figures.h"

#include <unistd.h>

#include "server/upgrade/messages.h"
#include "server/version.h"

namespace server {

service::ProcessFigures figures_of(const net::SessionTable& sessions, const live::Registry& registry) {
    service::ProcessFigures figures{.pid = getpid(), .version = std::string(kVersion)};
    figures.connections = sessions.admission().connections();
    figures.stream_memory = registry.memory();
    for (size_t i = 0; i < net::SessionType::count(); ++i) {
        const auto type = net::SessionType::at(i);
        if (net::is_client(type))
            (net::publishes(type) ? figures.publishers : figures.players) += sessions.in_streams(type);
    }
    figures.traffic = sessions.traffic();
    figures.addresses = sessions.admission().limiter().busiest(upgrade::kMaxAddresses);
    return figures;
}

}  // namespace server
