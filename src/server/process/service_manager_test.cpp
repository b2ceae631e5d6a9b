#include "server/process/service_manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "runtime/loop/testing.h"

namespace server {
namespace {

using runtime::testing::failed_with;
using runtime::testing::ok;

// The socket of a service manager.
class Listener {
  public:
    explicit Listener(std::string name) : name_(std::move(name)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, name_.data(), name_.size());
        size_t size = offsetof(sockaddr_un, sun_path) + name_.size() + 1;
        if (name_[0] == '@') {
            address.sun_path[0] = 0;
            --size;
        }
        socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        CHECK(::bind(socket_, reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(size)) == 0);
    }
    ~Listener() {
        ::close(socket_);
        if (name_[0] != '@') ::unlink(name_.c_str());
    }
    const char* name() const { return name_.c_str(); }
    // The next datagram; "nothing" if there is none.
    std::string next() {
        char buffer[4096];
        const ssize_t n = ::recv(socket_, buffer, sizeof buffer, 0);
        return n < 0 ? "nothing" : std::string(buffer, static_cast<size_t>(n));
    }

  private:
    std::string name_;
    int socket_ = -1;
};

std::string unique(const char* prefix) { return prefix + std::string("srs_notify_test.") + std::to_string(getpid()); }

class ServiceManagerTest : public runtime::testing::RuntimeTest {};

TEST_F(ServiceManagerTest, SendsToAPath) {
    Listener listener(unique("/tmp/"));
    ServiceManager manager;
    ASSERT_TRUE(ok(manager.start({.notify_socket = listener.name()})));
    EXPECT_EQ(manager.watchdog_us(), 0);
    manager.ready("Listening: rtmp 1935");
    EXPECT_EQ(listener.next(), "READY=1\nSTATUS=Listening: rtmp 1935");
    manager.stopping("Ending", 0);
    EXPECT_EQ(listener.next(), "STOPPING=1\nSTATUS=Ending");
    manager.stopping("Waiting", 2500);
    EXPECT_EQ(listener.next(), "STOPPING=1\nEXTEND_TIMEOUT_USEC=2500000\nSTATUS=Waiting");
}

TEST_F(ServiceManagerTest, SendsToAnAbstractName) {
    Listener listener(unique("@"));
    ServiceManager manager;
    ASSERT_TRUE(ok(manager.start({.notify_socket = listener.name()})));
    manager.ready("s");
    EXPECT_EQ(listener.next(), "READY=1\nSTATUS=s");
}

TEST_F(ServiceManagerTest, AReloadHasItsTime) {
    Listener listener(unique("@"));
    ServiceManager manager;
    ASSERT_TRUE(ok(manager.start({.notify_socket = listener.name()})));
    const int64_t before = base::monotonic_us();
    manager.reloading();
    const std::string text = listener.next();
    constexpr std::string_view kBegin = "RELOADING=1\nMONOTONIC_USEC=";
    ASSERT_TRUE(text.starts_with(kBegin)) << text;
    const int64_t time = std::strtoll(text.c_str() + kBegin.size(), nullptr, 10);
    EXPECT_GE(time, before);
    EXPECT_LE(time, base::monotonic_us());
}

// A file's name in an error text must not become a message of its own.
TEST_F(ServiceManagerTest, AStatusIsOneLine) {
    Listener listener(unique("@"));
    ServiceManager manager;
    ASSERT_TRUE(ok(manager.start({.notify_socket = listener.name()})));
    manager.ready("a\nSTOPPING=1\tb");
    EXPECT_EQ(listener.next(), "READY=1\nSTATUS=a STOPPING=1 b");
}

TEST_F(ServiceManagerTest, TheWatchdogIsServedTwicePerPeriod) {
    Listener listener(unique("@"));
    const std::string pid = std::to_string(getpid());
    ServiceManager manager;
    ASSERT_TRUE(
        ok(manager.start({.notify_socket = listener.name(), .watchdog_usec = "100000", .watchdog_pid = pid.c_str()})));
    EXPECT_EQ(manager.watchdog_us(), 100'000);
    ASSERT_TRUE(ok(runtime::sleep_ms(220)));
    manager.stop();
    int count = 0;
    for (std::string text = listener.next(); text != "nothing"; text = listener.next(), ++count)
        EXPECT_EQ(text, "WATCHDOG=1");
    EXPECT_GE(count, 3);
    EXPECT_LE(count, 5);
}

TEST_F(ServiceManagerTest, TheWatchdogIsNotServedByALoopThatStandsStill) {
    Listener listener(unique("@"));
    ServiceManager manager;
    ASSERT_TRUE(ok(manager.start({.notify_socket = listener.name(), .watchdog_usec = "100000"})));
    ASSERT_TRUE(ok(runtime::sleep_ms(20)));
    EXPECT_EQ(listener.next(), "WATCHDOG=1");
    ::usleep(300'000);  // the coroutine does not yield
    EXPECT_EQ(listener.next(), "nothing");
}

// The service manager takes what any process of the service says, and would end the service.
TEST_F(ServiceManagerTest, SaysNothingWhileAnotherProcessIsTheMainOne) {
    Listener listener(unique("@"));
    ServiceManager manager;
    ASSERT_TRUE(ok(manager.start({.notify_socket = listener.name(), .watchdog_usec = "20000"})));
    manager.taken_back("too early");
    EXPECT_EQ(listener.next(), "nothing") << "it is the main process already";
    manager.replaced_by(7, "Upgraded");
    EXPECT_EQ(listener.next(), "MAINPID=7\nSTATUS=Upgraded");
    manager.reloading();
    manager.ready("s");
    manager.stopping("Ending", 0);
    ASSERT_TRUE(ok(runtime::sleep_ms(50)));
    EXPECT_EQ(listener.next(), "nothing");
    manager.taken_back("Again");
    EXPECT_EQ(listener.next(), "MAINPID=" + std::to_string(getpid()) + "\nREADY=1\nSTATUS=Again");
    ASSERT_TRUE(ok(runtime::sleep_ms(50)));
    EXPECT_EQ(listener.next(), "WATCHDOG=1");
}

TEST_F(ServiceManagerTest, TheWatchdogOfAnotherProcessIsNotServed) {
    Listener listener(unique("@"));
    ServiceManager manager;
    ASSERT_TRUE(ok(manager.start({.notify_socket = listener.name(), .watchdog_usec = "100000", .watchdog_pid = "1"})));
    EXPECT_EQ(manager.watchdog_us(), 0);
}

TEST_F(ServiceManagerTest, WhatWaitsIsBounded) {
    auto listener = std::make_unique<Listener>(unique("@"));
    ServiceManager manager;
    ASSERT_TRUE(ok(manager.start({.notify_socket = listener->name()})));
    constexpr int kMessages = 5000;  // more than a socket's queue has room for
    for (int i = 0; i < kMessages; ++i) manager.ready(std::to_string(i));
    EXPECT_GT(manager.dropped(), 0u);
    while (listener->next() != "nothing") {
    }
    // The queue of a socket is short: what waits comes in several parts.
    std::string text, last;
    size_t came = 0;
    for (size_t part = 0; part < ServiceManager::kMaxWaiting; ++part) {
        manager.ready("the last");
        while ((text = listener->next()) != "nothing") {
            last = text;
            ++came;
        }
    }
    EXPECT_EQ(last, "READY=1\nSTATUS=the last");
    EXPECT_LE(came, 2 * ServiceManager::kMaxWaiting);
}

TEST_F(ServiceManagerTest, WithoutAServiceManagerNothingIsSent) {
    ServiceManager manager;
    ASSERT_TRUE(ok(manager.start({})));
    manager.ready("s");
    manager.reloading();
    manager.stopping("s", 1);
    ServiceManager empty;
    EXPECT_TRUE(ok(empty.start({.notify_socket = ""})));
}

// The process goes on when its service manager has gone.
TEST_F(ServiceManagerTest, ASocketThatIsGone) {
    auto listener = std::make_unique<Listener>(unique("@"));
    ServiceManager manager;
    ASSERT_TRUE(ok(manager.start({.notify_socket = listener->name()})));
    listener.reset();
    manager.ready("s");
    manager.ready("s");
    EXPECT_EQ(manager.dropped(), 0u);
}

TEST_F(ServiceManagerTest, RefusesWhatItCannotUse) {
    const std::string too_long = "/" + std::string(200, 'x');
    for (const char* name : {"relative", "vsock:2:1234", "/", "@", too_long.c_str()}) {
        ServiceManager manager;
        EXPECT_TRUE(failed_with(manager.start({.notify_socket = name}), base::Code::kConfig)) << name;
    }
    for (const char* usec : {"", "x", "-1", "0", "1x"}) {
        ServiceManager manager;
        EXPECT_TRUE(failed_with(manager.start({.notify_socket = "@x", .watchdog_usec = usec}), base::Code::kConfig))
            << usec;
    }
}

TEST_F(ServiceManagerTest, ChildProcessesGetNoneOfTheVariables) {
    setenv("NOTIFY_SOCKET", "/run/x", 1);
    setenv("WATCHDOG_USEC", "5", 1);
    setenv("WATCHDOG_PID", "6", 1);
    const ServiceManager::Environment environment = ServiceManager::take_environment();
    EXPECT_STREQ(environment.notify_socket, "/run/x");
    EXPECT_STREQ(environment.watchdog_usec, "5");
    EXPECT_STREQ(environment.watchdog_pid, "6");
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) EXPECT_EQ(std::getenv(name), nullptr);
}

}  // namespace
}  // namespace server
