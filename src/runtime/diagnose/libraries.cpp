#include "runtime/diagnose/libraries.h"

#include <st.h>

namespace runtime {

// As in the header: the loaded library does not report its own.
std::vector<Library> libraries() { return {{"state-threads", ST_VERSION}}; }

}  // namespace runtime
