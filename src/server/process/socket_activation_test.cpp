#include "server/process/socket_activation.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace server {
namespace {

using Environment = SocketActivation::Environment;

TEST(SocketActivation, DescriptorsBeginAtThree) {
    const std::string pid = std::to_string(getpid());
    const auto all = SocketActivation::descriptors({pid.c_str(), "3"});
    ASSERT_TRUE(all) << all.error().text();
    EXPECT_EQ(*all, (std::vector{3, 4, 5}));
}

TEST(SocketActivation, SocketsOfAnotherProcessAreNotTaken) {
    const std::string pid = std::to_string(getppid());
    for (const Environment& environment : {Environment{}, Environment{pid.c_str(), "3"}, Environment{nullptr, "3"}}) {
        const auto all = SocketActivation::descriptors(environment);
        ASSERT_TRUE(all) << all.error().text();
        EXPECT_TRUE(all->empty());
    }
}

TEST(SocketActivation, BadNumbersAreRefused) {
    const std::string pid = std::to_string(getpid());
    for (const char* count : {"", "x", "-1", "3 ", "1001", "99999999999999999999"})
        EXPECT_FALSE(SocketActivation::descriptors({pid.c_str(), count})) << count;
    EXPECT_FALSE(SocketActivation::descriptors({"me", "1"}));
}

TEST(SocketActivation, TheVariablesAreRemoved) {
    setenv("LISTEN_PID", "1", 1);
    setenv("LISTEN_FDS", "2", 1);
    setenv("LISTEN_FDNAMES", "a:b", 1);
    const Environment environment = SocketActivation::take_environment();
    EXPECT_STREQ(environment.listen_pid, "1");
    EXPECT_STREQ(environment.listen_fds, "2");
    for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) EXPECT_EQ(getenv(name), nullptr) << name;
}

}  // namespace
}  // namespace server
