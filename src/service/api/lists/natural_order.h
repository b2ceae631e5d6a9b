#pragma once
// The order of names that people expect: numbers in them by their value, letters of ASCII without regard to case: cam2
// before Cam10. Pure.

#include <string_view>

namespace service::api {

// A strict weak ordering: names that differ in case or leading zeros alone are ordered by their bytes.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace service::api
