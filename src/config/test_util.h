#pragma once
// Helpers for config's tests: loading from strings instead of files.

#include <map>
#include <string>
#include <vector>

#include "config/load.h"

namespace config {

using Files = std::map<std::string, std::string>;

inline FileReader reader_of(Files files) {
    return [files = std::move(files)](const std::string& path) -> base::Result<std::string> {
        auto found = files.find(path);
        if (found == files.end()) return base::fail(base::Code::kNotFound, "no such file");
        return found->second;
    };
}

inline Loaded load_text(const std::string& text, std::vector<std::string> environment = {}) {
    return load({"t.conf", reader_of({{"t.conf", text}}), std::move(environment)});
}

// All problems, a line each.
inline std::string described(const Problems& problems) {
    std::string out;
    for (const Problem& problem : problems.all()) out += problem.describe() + "\n";
    return out;
}

// "name value;" inside the blocks of its path. A path in vhost is put into __defaultVhost__.
inline std::string conf_of(const std::string& path, const std::string& value) {
    std::string head, tail, rest = path;
    for (size_t slash = rest.find('/'); slash != rest.npos; slash = rest.find('/')) {
        std::string name = rest.substr(0, slash);
        head += name + (name == "vhost" ? " __defaultVhost__ {\n" : " {\n");
        tail += "}\n";
        rest = rest.substr(slash + 1);
    }
    return head + rest + " " + value + ";\n" + tail;
}

}  // namespace config
