#include "server/builds/diagnostics.h"

namespace server {

LeakCheckPause::LeakCheckPause() = default;
LeakCheckPause::~LeakCheckPause() = default;

}  // namespace server
