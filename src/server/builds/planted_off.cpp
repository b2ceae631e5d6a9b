#include "server/builds/diagnostics.h"

namespace server {

base::Result<void> plant_defect() { return {}; }

}  // namespace server
