// Fuzzes the parser with any bytes. The part before the first 0 byte is the configuration file, the part up to the next
// one a file that it may include as "b", each further part an environment variable.

#include <cstdint>
#include <string>
#include <vector>

#include "config/diff.h"
#include "config/load.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::vector<std::string> parts(1);
    for (size_t i = 0; i < size; ++i) {
        if (data[i] == 0) {
            parts.emplace_back();
        } else {
            parts.back() += static_cast<char>(data[i]);
        }
    }
    if (parts.size() == 1) parts.emplace_back();
    auto read = [&](const std::string& path) -> base::Result<std::string> {
        if (path == "a") return parts[0];
        if (path == "b") return parts[1];
        return base::fail(base::Code::kNotFound, "no such file");
    };
    config::LoadInput input{"a", read, {parts.begin() + 2, parts.end()}};
    config::Loaded loaded = config::load(input);
    CHECK((loaded.snapshot == nullptr) == (loaded.problems.errors() > 0));
    if (loaded.snapshot) {
        static const config::SnapshotPtr kDefault = config::default_snapshot();
        config::plan_reload(*kDefault, *loaded.snapshot);
        CHECK(config::plan_reload(*loaded.snapshot, *loaded.snapshot).changes.empty());
    }
    return 0;
}
