#pragma once
// What `srs --version` prints: version, commit, and what this program was built with.

#include <string>
#include <string_view>

namespace server {

// Facts of the build that no source has: the Makefile writes them into $(OBJDIR)/build_facts.cpp, which only the server
// itself links. Changed facts compile that one source again and link the server.
struct BuildFacts {
    std::string_view commit;              // "1cd9bb840f07"; with a '+' if src/ differed from it; "unknown" without git
    std::string_view diagnostic_options;  // the options of ./configure that are on: "debug gperf gcp"; may be empty
};

// Several lines. The first one is the version alone, as -v prints it.
std::string about(const BuildFacts& facts);

}  // namespace server
