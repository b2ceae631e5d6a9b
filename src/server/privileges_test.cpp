// The change of user itself is tested end to end: a test process must keep its user.

#include "server/privileges.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "service/dvr/config.h"
#include "service/hls/config.h"

namespace server {
namespace {

TEST(Privileges, NothingToDo) {
    auto none = Privileges::find("");
    ASSERT_TRUE(none);
    EXPECT_FALSE(none->change());
    EXPECT_TRUE(none->lower());
    EXPECT_TRUE(none->drop());
    const RootScope root;  // has no effect
    EXPECT_EQ(getuid(), geteuid());
}

TEST(Privileges, WhoThereIsNot) {
    for (auto [user, why] : {std::pair("no-such-user", "there is no user no-such-user"),
                             std::pair("nobody:no-such-group", "there is no group no-such-group"),
                             std::pair("4242424", "user 4242424 has no name here: write UID:GID"),
                             std::pair("nobody:-1", "there is no group -1"),
                             std::pair("nobody:4294967295", "there is no group 4294967295"),
                             std::pair("root", "user must not be root"), std::pair("0:0", "user must not be root")}) {
        auto found = Privileges::find(user);
        ASSERT_FALSE(found) << user;
        EXPECT_EQ(found.error().text(), why);
    }
}

TEST(Privileges, WhoThereIs) {
    auto found = Privileges::find("4242424:4242425");
    if (geteuid() != 0) {
        ASSERT_FALSE(found);
        EXPECT_TRUE(found.error().text().starts_with("only root can become 4242424:4242425"));
        return;
    }
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->change());
    EXPECT_EQ(found->text(), "user 4242424 (uid 4242424, gid 4242425)");
}

TEST(Privileges, WhatIsLacking) {
    config::Snapshot snapshot = *config::default_snapshot();
    snapshot.global.pid = "./x.pid";
    snapshot.global.srs_log_file = "/proc/log/srs.log";
    auto& hls = snapshot.vhosts[0].get<service::hls::VhostConfig>();
    hls.enabled = true;
    hls.storage = "both";
    hls.path = "/proc/hls";
    auto& dvr = snapshot.vhosts[0].get<service::dvr::VhostConfig>();
    dvr.enabled = true;
    dvr.dvr_path = "/proc/[app]/x.flv";
    snapshot.http_server.enabled = snapshot.http_server.https.enabled = true;
    snapshot.http_server.https.key = "/nonexistent/key";
    std::vector<Lack> lacks = find_lacks(snapshot);
    auto has = [&](std::string_view text, bool fatal) {
        for (const Lack& lack : lacks)
            if (lack.text.find(text) != lack.text.npos && lack.is_fatal == fatal) return true;
        return false;
    };
    EXPECT_TRUE(has("http_server/https/key /nonexistent/key: uid", false));
    if (geteuid() == 0) return;  // root can write anywhere, or so it seems
    EXPECT_TRUE(has("srs_log_file /proc/log/srs.log", false));
    EXPECT_TRUE(has("vhost __defaultVhost__ hls_path /proc/hls/", true));
    EXPECT_TRUE(has("vhost __defaultVhost__ dvr_path /proc/[app]/x.flv", true));
    hls.storage = "memory";
    dvr.enabled = false;
    lacks = find_lacks(snapshot);
    EXPECT_FALSE(has("vhost", true));
}

}  // namespace
}  // namespace server
