#pragma once
// Adds the services' sections to config/ before the tests of a program run.

#include "server/services.h"

namespace server {

inline const bool kSectionsAdded = [] {
    add_sections();
    return true;
}();

}  // namespace server
