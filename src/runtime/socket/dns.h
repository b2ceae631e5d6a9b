#pragma once
// Name resolution by c-ares, so that a lookup never blocks the loop. Numeric addresses are returned at once.

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/loop/deadline.h"

namespace runtime {

// Addresses as text, IPv4 first. kNotFound when the name does not resolve.
base::Result<std::vector<std::string>> resolve(const std::string& name, Deadline deadline);

}  // namespace runtime
