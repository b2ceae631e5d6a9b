#include <sanitizer/lsan_interface.h>

#include <array>
#include <cstring>

#include "base/log.h"
#include "server/builds/diagnostics.h"

namespace server {
namespace {

bool logging = false;

// Collects a line, as the sanitizers print lines in pieces. Allocates nothing.
struct PrintedLine {
    std::array<char, 2048> bytes;
    size_t size = 0;
};
PrintedLine printed;

void take(const char* text) {
    for (; *text; ++text) {
        if (*text != '\n') {
            if (printed.size < printed.bytes.size()) printed.bytes[printed.size++] = *text;
            continue;
        }
        if (printed.size) base::log::write(base::log::Level::kError, {printed.bytes.data(), printed.size});
        printed.size = 0;
    }
    // The process may end at any moment.
    base::log::flush();
}

}  // namespace

void start_sanitizer_log() { logging = true; }

void stop_sanitizer_log() {
    // Otherwise leaks are checked for at exit, when the log is closed.
    __lsan_do_leak_check();
    logging = false;
}

}  // namespace server

// Called by the sanitizers' runtime, if the program defines it, with everything that it prints.
extern "C" __attribute__((no_sanitize("address", "undefined"))) void __sanitizer_on_print(const char* text) {
    if (!server::logging) return;
    // Output caused by writing the log is not handled recursively.
    server::logging = false;
    server::take(text);
    server::logging = true;
}
