#include "server/lifecycle.h"

#include <gtest/gtest.h>

namespace server {
namespace {

struct Service {
    std::string name;
    std::string& log;
    bool fails = false;
    bool is_idle = true;

    base::Result<void> start() {
        log += "+" + name;
        if (fails) return base::fail(base::Code::kSystem, "rtmp/listen 1935 (a.conf:1): Address already in use");
        return {};
    }
    void stop_accepting() { log += "!" + name; }
    bool idle() const { return is_idle; }
    void stop() { log += "-" + name; }
};

struct Reloading : Service {
    void reload(const config::SnapshotPtr&) { log += "~" + name; }
};

struct Careful : Service {
    bool refuses = false;
    base::Result<std::move_only_function<void()>> prepare(const config::SnapshotPtr&) {
        log += "?" + name;
        if (refuses) return base::fail(base::Code::kConfig, "rtmps: a.key: no such file");
        return [this] { log += "~" + name; };
    }
};

struct LifecycleFixture {
    std::string log;
    std::shared_ptr<Service> a = std::make_shared<Service>(Service{"a", log});
    std::shared_ptr<Reloading> b = std::make_shared<Reloading>(Reloading{{"b", log}});
    std::shared_ptr<Careful> c = std::make_shared<Careful>(Careful{{"c", log}});
    Lifecycle lifecycle;
    LifecycleFixture() {
        lifecycle.add(module_of("a", a));
        lifecycle.add(module_of("b", b));
        lifecycle.add(module_of("c", c));
    }
};

TEST(Lifecycle, StartsInOrderAndStopsInReverse) {
    LifecycleFixture f;
    ASSERT_TRUE(f.lifecycle.start().has_value());
    for (Commit& commit : f.lifecycle.prepare(nullptr).commits) commit();
    f.lifecycle.stop_accepting();
    f.lifecycle.stop();
    f.lifecycle.stop();  // the second call has no effect
    EXPECT_EQ(f.log, "+a+b+c?c~b~c!a!b!c-c-b-a");
}

TEST(Lifecycle, AFailureStopsThoseBeforeIt) {
    LifecycleFixture f;
    f.b->fails = true;
    auto started = f.lifecycle.start();
    ASSERT_FALSE(started.has_value());
    EXPECT_EQ(started.error().text(), "b: rtmp/listen 1935 (a.conf:1): Address already in use");
    EXPECT_EQ(f.log, "+a+b-b-a");
    EXPECT_TRUE(f.lifecycle.idle());
}

TEST(Lifecycle, AReloadThatOneRefusesChangesNothing) {
    LifecycleFixture f;
    ASSERT_TRUE(f.lifecycle.start().has_value());
    f.log.clear();
    f.c->refuses = true;
    Lifecycle::Prepared prepared = f.lifecycle.prepare(nullptr);
    EXPECT_EQ(f.log, "?c");
    EXPECT_EQ(prepared.refusals, std::vector<std::string>{"c: rtmps: a.key: no such file"});
}

struct WithCheck : Careful {
    base::Result<void> check(const config::SnapshotPtr&) {
        log += "." + name;
        if (refuses) return base::fail(base::Code::kSystem, "stream_caster.listen: Address already in use");
        return {};
    }
};

TEST(Lifecycle, ACheckPreparesOnlyWhatOpensNothing) {
    LifecycleFixture f;
    auto d = std::make_shared<WithCheck>(WithCheck{{{"d", f.log}}});
    f.lifecycle.add(module_of("d", d));
    EXPECT_TRUE(f.lifecycle.check(nullptr).empty()) << "nothing is started";
    ASSERT_TRUE(f.lifecycle.start().has_value());
    f.log.clear();
    EXPECT_TRUE(f.lifecycle.check(nullptr).empty());
    EXPECT_EQ(f.log, "?c.d");
    f.c->refuses = d->refuses = true;
    EXPECT_EQ(
        f.lifecycle.check(nullptr),
        (std::vector<std::string>{"c: rtmps: a.key: no such file", "d: stream_caster.listen: Address already in use"}));
}

TEST(Lifecycle, IsIdleWhenAllAre) {
    LifecycleFixture f;
    f.a->is_idle = f.c->is_idle = false;
    EXPECT_TRUE(f.lifecycle.idle());  // nothing is started
    ASSERT_TRUE(f.lifecycle.start().has_value());
    EXPECT_FALSE(f.lifecycle.idle());
    EXPECT_EQ(f.lifecycle.busy(), "a, c");
    f.a->is_idle = f.c->is_idle = true;
    EXPECT_TRUE(f.lifecycle.idle());
}

}  // namespace
}  // namespace server
