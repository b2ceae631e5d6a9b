#pragma once
// conf/full.conf, doc/config.md and a part of doc/coming-from-srs.md, made from the rows. The committed files have
// these texts; docs_test.cpp compares.

#include <string>

namespace config {

// A file that works as it is: every supported directive at its default (or commented out, where it has none), and
// every directive to come commented out.
std::string full_conf();
std::string config_markdown();
// A part of doc/coming-from-srs.md: what is read and has no effect, by feature, and names and forms of older files.
std::string missing_markdown();

}  // namespace config
