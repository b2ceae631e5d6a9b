#pragma once
// The versions of the libraries that only runtime/ uses.

#include <string_view>
#include <vector>

namespace runtime {

struct Library {
    std::string_view name;
    std::string_view version;
};
std::vector<Library> libraries();

}  // namespace runtime
