#pragma once
// For the tests in this folder: the configuration with this service's directives, and no other's.

#include "config/test_util.h"
#include "service/tools/config.h"

namespace service::tools::testing {

// Before anything else uses config/.
inline const bool kAdded = [] {
    config::add_section(section());
    return true;
}();

}  // namespace service::tools::testing
