#pragma once
// service/module.h under the names of this room.

#include "service/module.h"

namespace server {

using service::Commit;
using service::Module;
using service::module_of;
using service::WithoutClients;

}  // namespace server
