// The change of user itself is tested end to end: a test process must keep its user.

#include "server/process/privileges.h"

#include <gtest/gtest.h>
#include <unistd.h>

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

}  // namespace
}  // namespace server
