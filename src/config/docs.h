#pragma once
// Generates conf/full.conf, doc/config.md and a part of doc/coming-from-srs.md from the rows. The committed files
// contain these texts; server/config_docs_test.cpp compares.

#include <string>

namespace config {

// A working file: every supported directive at its default (or commented out, if it has none), and every directive that
// is not built yet commented out.
std::string full_conf();
std::string config_markdown();
// A part of doc/coming-from-srs.md: what is accepted and has no effect, by feature, and the names and forms of older
// files.
std::string missing_markdown();

}  // namespace config
