#include "server/about.h"

#include <gtest/gtest.h>

#include "server/services.h"
#include "server/version.h"

namespace server {
namespace {

TEST(About, TheFirstLineIsTheVersionAlone) {
    EXPECT_TRUE(about({"abc", ""}).starts_with(std::string(kVersion) + "\n")) << about({"abc", ""});
}

TEST(About, HasTheFactsOfTheBuild) {
    const std::string normal = about({"0123456789ab+", ""});
    EXPECT_NE(normal.find("\ncommit 0123456789ab+, "), std::string::npos) << normal;
    EXPECT_TRUE(normal.ends_with("\ndiagnostic options: none\n")) << normal;
    EXPECT_TRUE(about({"unknown", "gperf gcp"}).ends_with("\ndiagnostic options: gperf gcp\n"));
}

TEST(About, NamesServicesAndLibraries) {
    const std::string text = about({"abc", ""});
    for (const service::Description* one : services())
        EXPECT_NE(text.find(" " + std::string(one->name)), std::string::npos) << one->name << " is not in " << text;
    for (const char* name : {"OpenSSL 3.", "zlib 1.", "c-ares 1.", "http-parser 2.", "state-threads 1.", "libsrtp",
                             "AES-GCM of ", "fmt ", "spdlog ", "nlohmann-json ", "CLI11 ", "libavcodec "})
        EXPECT_NE(text.find(name), std::string::npos) << name << " is not in " << text;
}

}  // namespace
}  // namespace server
