#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "protocol/http/via.h"

// What was read can be written, and read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string path = http::path_of_via({reinterpret_cast<const char*>(data), size});
    CHECK(path.size() <= http::kMaxViaPath);
    CHECK(http::path_of_via(http::via_of_path(path)) == path);
    return 0;
}
