// What is made of all services' rows, and the files that are shipped.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "config/docs.h"
#include "config/listing.h"
#include "config/test_util.h"
#include "server/sections_testing.h"

namespace server {
namespace {

using namespace config;

base::Result<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return base::fail(base::Code::kNotFound, "no such file: run the tests from the repository's root");
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
}

Loaded load_file(const std::string& path) { return load({path, read_file, {}}); }

TEST(Docs, TheCommittedFilesAreTheGeneratedOnes) {
    auto conf = read_file("conf/full.conf");
    ASSERT_TRUE(conf.has_value()) << conf.error().text();
    EXPECT_TRUE(*conf == full_conf()) << "objs/srs --print-full-conf > conf/full.conf";
    auto doc = read_file("doc/config.md");
    ASSERT_TRUE(doc.has_value()) << doc.error().text();
    EXPECT_TRUE(*doc == config_markdown()) << "objs/srs --print-config-doc > doc/config.md";
    auto coming = read_file("doc/coming-from-srs.md");
    ASSERT_TRUE(coming.has_value()) << coming.error().text();
    EXPECT_NE(coming->find(missing_markdown()), std::string::npos)
        << "the tables at its end: objs/srs --print-missing-doc";
}

TEST(Docs, FullConfHasTheDefaults) {
    Loaded loaded = load_text(full_conf());
    ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
    EXPECT_EQ(described(loaded.problems), "");
    auto full = list_directives(*loaded.snapshot);
    auto plain = list_directives(*default_snapshot());
    ASSERT_EQ(full.size(), plain.size());
    for (size_t i = 0; i < full.size(); ++i) EXPECT_EQ(full[i].value, plain[i].value) << full[i].row->path();
}

TEST(Docs, ShippedFilesHaveNoProblems) {
    for (const char* path : {"conf/srs.conf", "conf/console.conf", "conf/full.conf"}) {
        Loaded loaded = load_file(path);
        EXPECT_TRUE(loaded.snapshot) << path;
        EXPECT_EQ(described(loaded.problems), "") << path;
    }
}

// Every line of full.conf that is commented out works when it is uncommented.
TEST(Docs, CommentedDirectivesCanBeUncommented) {
    std::istringstream lines(full_conf());
    std::string line, text;
    while (std::getline(lines, line)) {
        size_t at = line.find_first_not_of(' ');
        bool code = at != std::string::npos && line.compare(at, 2, "# ") == 0 &&
                    (line.ends_with(';') || line.ends_with('{') || line.ends_with('}')) && !line.ends_with(":") &&
                    line.find("objs/srs") == std::string::npos;
        text += (code ? line.substr(at + 2) : line) + "\n";
    }
    Loaded loaded = load_text(text);
    EXPECT_EQ(loaded.problems.errors(), 0u) << described(loaded.problems).substr(0, 2000);
    EXPECT_NE(text.find("\nsrt_server {"), std::string::npos);
}

}  // namespace
}  // namespace server
