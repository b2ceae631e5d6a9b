#pragma once
// The services that are built in: the list is services.inc.

#include <span>

#include "service/description.h"

namespace server {

// In the order of their start. Built at the first call; lives until the end.
std::span<const service::Description* const> services();

// Adds the services' directives and listeners to config/. Must be called before anything of config/ is used.
void add_sections();

}  // namespace server
