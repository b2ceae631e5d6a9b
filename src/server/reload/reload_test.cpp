#include "server/reload/reload.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "runtime/loop/testing.h"

namespace server {
namespace {

class ReloadTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        unsetenv("SRS_OBJS");  // set by the test run; not a configuration
        path_ = testing::TempDir() + "reload_test." + std::to_string(getpid()) + ".conf";
        write("listen 1; srs_log_tank console; vhost a { }");
    }
    void TearDown() override {
        ::unlink(path_.c_str());
        RuntimeTest::TearDown();
    }
    void write(const std::string& text) { std::ofstream(path_) << text; }

    // A server with one module, which records the snapshots put in force and may refuse.
    struct Running {
        explicit Running(const std::string& path, const std::string& refusal) {
            ConfigSource source(path);
            FileMarks read;
            config::SnapshotPtr snapshot = source.load(&read).snapshot;
            CHECK(snapshot != nullptr);
            Module module;
            module.name = "m";
            module.start = [] { return base::Result<void>(); };
            module.stop_accepting = [] {};
            module.idle = [] { return true; };
            module.stop = [] {};
            module.prepare = [this, &refusal](const config::SnapshotPtr& next) -> base::Result<Commit> {
                TRY(runtime::sleep_ms(prepare_ms));
                if (!refusal.empty()) return base::fail(base::Code::kConfig, refusal);
                return [this, next] { active = next; };
            };
            lifecycle.add(std::move(module));
            CHECK(lifecycle.start().has_value());
            reloader = std::make_unique<Reloader>(source, lifecycle, operations, snapshot, read);
        }
        net::ReloadReport reload() {
            auto report = reloader->reload("test");
            CHECK(report.has_value());
            return *report;
        }
        int64_t prepare_ms = 0;
        config::SnapshotPtr active;
        net::Operations operations;
        Lifecycle lifecycle;
        std::unique_ptr<Reloader> reloader;
    };

    std::string path_;
    std::string refusal_;
};

TEST_F(ReloadTest, WhatChangedIsInForceAndTold) {
    Running server(path_, refusal_);
    write(
        "listen 2; srs_log_tank console; max_connections 7; http_api { auth { password x; } } vhost a { } vhost b { }");
    const net::ReloadReport report = server.reload();
    EXPECT_TRUE(report.ok);
    EXPECT_EQ(report.number, 1u);
    EXPECT_EQ(report.cause, "test");
    std::string text;
    for (const net::ReloadChange& change : report.changes)
        text += change.vhost + "|" + change.directive + "|" + change.before + "|" + change.after +
                (change.is_active ? "|live\n" : "|restart\n");
    EXPECT_EQ(text,
              "|max_connections|1000|7|live\n"
              "|rtmp/listen|1|2|restart\n"
              "|http_api/auth/password|(hidden)|(hidden)|live\n"
              "b||not there|there|live\n");
    ASSERT_NE(server.active, nullptr);
    EXPECT_EQ(server.active->global.max_connections, 7);
    EXPECT_EQ(server.active->rtmp.listen[0].port, 1);
    EXPECT_EQ(server.reloader->snapshot(), server.active);
    EXPECT_EQ(server.operations.last_reload.number, 1u);
}

TEST_F(ReloadTest, ACheckSaysWhatAReloadWouldDoAndDoesNothing) {
    Running server(path_, refusal_);
    const config::SnapshotPtr before = server.reloader->snapshot();
    const FileMarks read = server.reloader->read();
    const auto check = [&server] {
        const auto report = server.reloader->check();
        CHECK(report.has_value());
        std::string text = report->ok ? "ok" : report->error;
        for (const std::string& problem : report->problems) text += "; " + problem;
        for (const net::ReloadChange& change : report->changes)
            text += fmt::format("; {}|{}|{}|{}|{}", change.vhost, change.directive, change.before, change.after,
                                change.is_active ? "live" : "restart");
        return text;
    };
    EXPECT_EQ(check(), "ok");
    write("listen 2; srs_log_tank console; max_connections 7; http_api { auth { password x; } } vhost b { }");
    const std::string changes =
        "; |max_connections|1000|7|live; |rtmp/listen|1|2|restart; "
        "|http_api/auth/password|(hidden)|(hidden)|live; b||not there|there|live; a||there|not there|live";
    EXPECT_EQ(check(), "ok" + changes);
    EXPECT_EQ(check(), "ok" + changes) << "and again";
    refusal_ = "rtmps: a.key: no such file";
    EXPECT_EQ(check(), path_ + " cannot be put in force; m: rtmps: a.key: no such file" + changes);
    write("listen 1;\nbogus 1;\nvhost a { }");
    EXPECT_EQ(check(), path_ + " has 1 errors; " + path_ + ":2: error: unknown directive 'bogus'");
    EXPECT_EQ(server.active, nullptr);
    EXPECT_EQ(server.reloader->snapshot(), before);
    EXPECT_EQ(server.reloader->read(), read) << "a file that has changed is still reloaded by itself";
    EXPECT_EQ(server.operations.reloads + server.operations.last_reload.number, 0u);
    server.reloader->close();
    EXPECT_FALSE(server.reloader->check().has_value());
}

TEST_F(ReloadTest, ACheckWaitsForAReload) {
    Running server(path_, refusal_);
    server.prepare_ms = 50;
    write("listen 1; srs_log_tank console; max_connections 7; vhost a { }");
    runtime::Task reload = runtime::spawn("reload", [&] { EXPECT_EQ(server.reload().changes.size(), 1u); });
    runtime::Task check = runtime::spawn("check", [&] {
        const auto report = server.reloader->check();
        ASSERT_TRUE(report.has_value());
        EXPECT_TRUE(report->changes.empty()) << "it is in force already";
    });
    ASSERT_TRUE(check.join(runtime::Deadline::in_ms(20'000)));
    ASSERT_TRUE(reload.join(runtime::Deadline::in_ms(20'000)));
}

TEST_F(ReloadTest, ABrokenFileChangesNothing) {
    Running server(path_, refusal_);
    const config::SnapshotPtr before = server.reloader->snapshot();
    write("listen 1; bogus 1; max_connections x; vhost a { }");
    const net::ReloadReport report = server.reload();
    EXPECT_FALSE(report.ok);
    ASSERT_EQ(report.problems.size(), 2u);
    EXPECT_NE(report.problems[0].find("bogus"), std::string::npos);
    EXPECT_NE(report.error.find("2 errors"), std::string::npos) << report.error;
    EXPECT_EQ(server.active, nullptr);
    EXPECT_EQ(server.reloader->snapshot(), before);
    EXPECT_EQ(server.operations.reloads_failed, 1u);
}

TEST_F(ReloadTest, WhatAModuleRefusesChangesNothing) {
    Running server(path_, refusal_);
    const config::SnapshotPtr before = server.reloader->snapshot();
    write("listen 1; srs_log_tank console; max_connections 7; vhost a { }");
    refusal_ = "rtmps: a.key: no such file";
    const net::ReloadReport report = server.reload();
    EXPECT_FALSE(report.ok);
    EXPECT_EQ(report.problems, std::vector<std::string>{"m: rtmps: a.key: no such file"});
    EXPECT_EQ(server.active, nullptr);
    EXPECT_EQ(server.reloader->snapshot(), before);
    refusal_.clear();
    EXPECT_TRUE(server.reload().ok);
    EXPECT_EQ(server.active->global.max_connections, 7);
}

TEST_F(ReloadTest, ALogThatCannotBeOpenedChangesNothing) {
    Running server(path_, refusal_);
    write("listen 1; srs_log_tank file; srs_log_file /dev/null/a.log; max_connections 7; vhost a { }");
    const net::ReloadReport report = server.reload();
    EXPECT_FALSE(report.ok);
    EXPECT_NE(report.error.find("srs_log_file"), std::string::npos) << report.error;
    EXPECT_EQ(server.active, nullptr);
}

TEST_F(ReloadTest, OneAfterTheOther) {
    Running server(path_, refusal_);
    server.prepare_ms = 50;
    write("listen 1; srs_log_tank console; max_connections 7; vhost a { }");
    runtime::Task first = runtime::spawn("first", [&] { EXPECT_EQ(server.reload().changes.size(), 1u); });
    runtime::Task second = runtime::spawn("second", [&] { EXPECT_EQ(server.reload().changes.size(), 0u); });
    ASSERT_TRUE(first.join(runtime::Deadline::in_ms(20'000)));
    ASSERT_TRUE(second.join(runtime::Deadline::in_ms(20'000)));
    EXPECT_EQ(server.operations.reloads, 2u);
}

TEST_F(ReloadTest, OneThatIsCancelledChangesNothing) {
    Running server(path_, refusal_);
    server.prepare_ms = 60'000;
    write("listen 1; srs_log_tank console; max_connections 7; vhost a { }");
    runtime::Task task = runtime::spawn("reload", [&] { EXPECT_FALSE(server.reloader->reload("test").has_value()); });
    ASSERT_TRUE(runtime::sleep_ms(50));
    task.cancel_and_join();
    EXPECT_EQ(server.active, nullptr);
    server.reloader->close();
    EXPECT_FALSE(server.reloader->reload("test").has_value());
}

// The service manager is told of both, and waits for the second after the first.
TEST_F(ReloadTest, ItsBeginAndItsEndAreTold) {
    Running server(path_, refusal_);
    std::string told;
    server.reloader->on_reloading([&told] { told += "begin "; });
    server.reloader->on_reloaded([&told] { told += "end "; });
    EXPECT_TRUE(server.reload().ok);
    EXPECT_EQ(told, "begin end ");
    write("no such directive;");
    EXPECT_FALSE(server.reload().ok);
    EXPECT_EQ(told, "begin end begin end ");
    write("listen 1; srs_log_tank console; vhost a { }");
    server.prepare_ms = 10'000;
    runtime::Task task = runtime::spawn("reload", [&server] {
        EXPECT_TRUE(runtime::testing::failed_with(server.reloader->reload("test"), base::Code::kCancelled));
    });
    ASSERT_TRUE(runtime::sleep_ms(50).has_value());
    task.cancel_and_join();
    EXPECT_EQ(told, "begin end begin end begin end ");
}

}  // namespace
}  // namespace server
