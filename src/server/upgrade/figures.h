#pragma once
// How much of the server this process is, for the other process of an upgrade.

#include "live/hub/registry.h"
#include "net/sessions/session.h"
#include "service/other_process.h"

namespace server {

service::ProcessFigures figures_of(const net::SessionTable& sessions, const live::Registry& registry);

}  // namespace server
