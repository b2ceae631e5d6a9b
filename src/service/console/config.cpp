#include "service/console/config.h"

#include "config/row_builder.h"

namespace service::console {
namespace {

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope scope{"console", kOfServer<ServerConfig>};
    using C = ServerConfig;
    rows.push_back(row(scope, "enabled", &C::enabled, none(), kLive,
                       "Console and players, on the ports of http_server and http_api."));
    rows.push_back(row(scope, "dir", &C::dir, none(), kLive, "The directory into which make console puts them."));
}

}  // namespace

config::Section section() { return {.service = "console", .add_rows = add_rows}; }

}  // namespace service::console
