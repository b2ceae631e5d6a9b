#include "server/services.h"

#include <gtest/gtest.h>

#include <set>

#include "config/listeners.h"
#include "server/sections_testing.h"

namespace server {
namespace {

std::set<std::string_view> names() {
    std::set<std::string_view> names;
    for (const service::Description* one : services()) EXPECT_TRUE(names.insert(one->name).second) << one->name;
    return names;
}

// A service is started as root, to bind its ports, because of its name.
TEST(Services, EachListenerIsOfAService) {
    ASSERT_TRUE(kSectionsAdded);
    const std::set<std::string_view> known = names();
    EXPECT_GE(config::listeners().size(), 9u);
    for (const config::Listener& listener : config::listeners())
        EXPECT_TRUE(known.contains(listener.service)) << listener.path;
}

TEST(Services, EachCanBeMadeAndHasNothingToWriteByDefault) {
    const config::SnapshotPtr snapshot = config::default_snapshot();
    for (const service::Description* one : services()) {
        EXPECT_TRUE(one->make) << one->name;
        if (one->section.add_rows) {
            EXPECT_EQ(one->section.service, one->name);
        }
        if (one->outputs) {
            EXPECT_TRUE(one->outputs(*snapshot).empty()) << one->name;
        }
        if (one->programs) {
            EXPECT_TRUE(one->programs(*snapshot).empty()) << one->name;
        }
        if (one->key_pairs) {
            EXPECT_TRUE(one->key_pairs(*snapshot).empty()) << one->name;
        }
    }
}

}  // namespace
}  // namespace server
