#include "service/caster/service.h"

#include <gtest/gtest.h>

#include "runtime/loop/testing.h"
#include "runtime/socket/tcp.h"
#include "runtime/socket/udp.h"

namespace service::caster {
namespace {

using runtime::testing::ok;

class CasterServiceTest : public runtime::testing::RuntimeTest {
  protected:
    static config::SnapshotPtr snapshot(const char* kind, uint16_t port) {
        auto made = std::make_shared<config::Snapshot>(*config::default_snapshot());
        Caster caster;
        caster.enabled = true;
        caster.caster = kind;
        caster.output = "rtmp://127.0.0.1/live/s";
        caster.listen = {{.host = "127.0.0.1", .port = port}};
        made->get<Casters>().all.push_back(std::move(caster));
        return made;
    }
    static bool is_free(uint16_t port, int type) { return runtime::try_to_bind({"127.0.0.1", port}, type).has_value(); }

    net::SessionTable sessions_;
    live::Registry registry_;
    net::Gate gate_;
    Service service_{config::default_snapshot(), sessions_, registry_, gate_};
};

TEST_F(CasterServiceTest, ACheckOpensNoPort) {
    ASSERT_TRUE(ok(service_.start()));
    auto tcp = runtime::listen_tcp({"127.0.0.1", 0});
    auto udp = runtime::bind_udp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(tcp));
    ASSERT_TRUE(ok(udp));
    struct Row {
        const char* kind;
        int type;
        uint16_t port;
    };
    const Row rows[] = {{"flv", SOCK_STREAM, (*tcp)->port()}, {"mpegts_over_udp", SOCK_DGRAM, (*udp)->port()}};
    for (const auto& [kind, type, port] : rows) {
        const auto checked = service_.check(snapshot(kind, port));
        const auto prepared = service_.prepare(snapshot(kind, port));
        ASSERT_FALSE(checked) << kind << ": somebody else has the port";
        ASSERT_FALSE(prepared) << kind << ": somebody else has the port";
        EXPECT_NE(checked.error().text().find("stream_caster.listen: binding to 127.0.0.1"), std::string::npos)
            << checked.error().text();
        EXPECT_EQ(checked.error().system_errno(), EADDRINUSE);
    }
    tcp->reset();
    udp->reset();
    for (const auto& [kind, type, port] : rows) {
        EXPECT_TRUE(ok(service_.check(snapshot(kind, port)))) << kind;
        EXPECT_TRUE(is_free(port, type)) << kind << ": it was not kept";
        auto commit = service_.prepare(snapshot(kind, port));
        ASSERT_TRUE(ok(commit)) << kind;
        EXPECT_FALSE(is_free(port, type)) << kind << ": a reload holds it until it is put in force";
        (*commit)();
        EXPECT_TRUE(ok(service_.check(snapshot(kind, port)))) << kind << ": the port is this server's own";
    }
    service_.stop();
}

}  // namespace
}  // namespace service::caster
