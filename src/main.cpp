#include "server/about.h"
#include "server/server.h"

namespace server {
extern const BuildFacts kBuildFacts;  // in the source that the Makefile writes
}

int main(int argc, char** argv) { return server::run(argc, argv, server::kBuildFacts); }
