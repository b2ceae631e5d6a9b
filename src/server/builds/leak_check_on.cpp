#include <gperftools/heap-checker.h>

#include <optional>

#include "server/builds/diagnostics.h"

namespace server {
namespace {
std::optional<HeapLeakChecker::Disabler> disabler;
}

LeakCheckPause::LeakCheckPause() { disabler.emplace(); }
LeakCheckPause::~LeakCheckPause() { disabler.reset(); }

}  // namespace server
