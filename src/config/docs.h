#pragma once
// conf/full.conf and doc/config.md, made from the rows. The committed files are these texts; docs_test.cpp compares.

#include <string>

namespace config {

// A file that works as it is: every supported directive at its default (or commented out, where it has none), and
// every directive to come commented out.
std::string full_conf();
std::string config_markdown();

}  // namespace config
