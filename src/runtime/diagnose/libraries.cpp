#include "runtime/diagnose/libraries.h"

#include <liburing.h>
#include <st.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

namespace runtime {

// As in the headers: the loaded libraries do not report theirs.
std::vector<Library> libraries() {
#ifdef IO_URING_VERSION_MAJOR
    constexpr std::string_view kUring = TEXT(IO_URING_VERSION_MAJOR) "." TEXT(IO_URING_VERSION_MINOR);
#else
    constexpr std::string_view kUring = "before 2.4";  // its headers have no version
#endif
    return {{"state-threads", ST_VERSION}, {"liburing", kUring}};
}

}  // namespace runtime
