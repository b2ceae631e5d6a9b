#include "service/rtc/requests/candidates.h"

#include <gtest/gtest.h>

#include <map>

#include "service/rtc/config.h"

namespace service::rtc {
namespace {

class CandidatesTest : public testing::Test {
  protected:
    CandidatesTest() {
        sources_.local = {{"lo", "127.0.0.1", true},
                          {"eth0", "192.0.2.10", false},
                          {"eth1", "198.51.100.7", false},
                          {"lo", "::1", true},
                          {"eth0", "2001:db8::10", false}};
        sources_.resolve = [this](const std::string& name) {
            asked_.push_back(name);
            return names_[name];
        };
        sources_.environment = [this](const std::string& name) { return environment_[name]; };
    }
    // All candidates: "192.0.2.10:8000 tcp:..."
    std::string found() {
        auto all = find_candidates({rtc_, api_host_, eip_, udp_, tcp_}, sources_);
        if (!all) return "error: " + all.error().text();
        std::string text;
        for (const CandidateAddress& one : *all)
            text += (text.empty() ? "" : " ") + std::string(one.tcp ? "tcp:" : "") + one.host + ":" +
                    std::to_string(one.port);
        return text;
    }

    ServerConfig rtc_;
    std::string api_host_, eip_;
    std::vector<uint16_t> udp_ = {8000}, tcp_;
    CandidateSources sources_;
    std::map<std::string, std::vector<std::string>> names_;
    std::map<std::string, std::string> environment_;
    std::vector<std::string> asked_;
};

TEST_F(CandidatesTest, InterfacesByTheirFamily) {
    EXPECT_EQ(found(), "192.0.2.10:8000 198.51.100.7:8000");
    rtc_.ip_family = "ipv6";
    EXPECT_EQ(found(), "2001:db8::10:8000");
    rtc_.ip_family = "all";
    EXPECT_EQ(found(), "192.0.2.10:8000 198.51.100.7:8000 2001:db8::10:8000");
}

TEST_F(CandidatesTest, OnlyWhereASocketListens) {
    rtc_.listen = {{"192.0.2.10", 8000}};
    EXPECT_EQ(found(), "192.0.2.10:8000");
    rtc_.ip_family = "all";
    rtc_.listen = {{"0.0.0.0", 8000}};
    EXPECT_EQ(found(), "192.0.2.10:8000 198.51.100.7:8000");
}

TEST_F(CandidatesTest, TheHostOfTheApiComesFirst) {
    api_host_ = "127.0.0.1";
    EXPECT_EQ(found(), "127.0.0.1:8000 192.0.2.10:8000 198.51.100.7:8000");
    rtc_.use_auto_detect_network_ip = false;
    EXPECT_EQ(found(), "127.0.0.1:8000");
    api_host_ = "0.0.0.0";
    EXPECT_EQ(found(), "192.0.2.10:8000");
    rtc_.api_as_candidates = false;
    api_host_ = "203.0.113.1";
    EXPECT_EQ(found(), "192.0.2.10:8000");
}

TEST_F(CandidatesTest, ADomainIsResolvedOrKeptAsConfigured) {
    rtc_.use_auto_detect_network_ip = false;
    api_host_ = "media.example.com";
    names_["media.example.com"] = {"203.0.113.5", "2001:db8::5"};
    EXPECT_EQ(found(), "203.0.113.5:8000");
    rtc_.keep_api_domain = true;
    EXPECT_EQ(found(), "203.0.113.5:8000 media.example.com:8000");
    rtc_.resolve_api_domain = false;
    EXPECT_EQ(found(), "media.example.com:8000");
    asked_.clear();
    api_host_ = "bad name\r\n";
    EXPECT_EQ(found(), "192.0.2.10:8000");
    EXPECT_TRUE(asked_.empty());
}

TEST_F(CandidatesTest, EipMayNameAPort) {
    tcp_ = {8443};
    rtc_.protocol = "all";
    rtc_.candidate = {"203.0.113.1"};
    eip_ = "203.0.113.9:18000";
    EXPECT_EQ(found(), "203.0.113.9:18000 203.0.113.1:8000 tcp:203.0.113.9:18000 tcp:203.0.113.1:8443");
    rtc_.protocol = "tcp";
    EXPECT_EQ(found(), "tcp:203.0.113.9:18000 tcp:203.0.113.1:8443");
    rtc_.protocol = "udp";
    eip_ = "[2001:db8::9]:9";
    EXPECT_EQ(found(), "2001:db8::9:9 203.0.113.1:8000");
    eip_ = "2001:db8::9";
    EXPECT_EQ(found(), "2001:db8::9:8000 203.0.113.1:8000");
    for (const char* bad : {"a b", "1.2.3.4:", "1.2.3.4:0", "1.2.3.4:70000", "[::1", "[1]:2", "x\r\na=y", "1.2.3.4:8x",
                            "[::1]:", "localhost", "media.example.com:8000"}) {
        eip_ = bad;
        EXPECT_EQ(found(), "error: eip: '" + eip_ + "' is no ADDRESS or ADDRESS:PORT");
    }
    EXPECT_TRUE(asked_.empty()) << "a client cannot choose a name to be resolved";
}

TEST_F(CandidatesTest, ConfiguredOnesStandForTheMachines) {
    rtc_.candidate = {"203.0.113.1", "eth1", "media.example.com", "2001:db8::99"};
    names_["media.example.com"] = {"203.0.113.2"};
    EXPECT_EQ(found(), "203.0.113.1:8000 198.51.100.7:8000 203.0.113.2:8000 2001:db8::99:8000");
    rtc_.candidate = {"unknown.example.com"};
    EXPECT_EQ(found(), "unknown.example.com:8000");
    rtc_.candidate = {"$IP"};
    EXPECT_EQ(found(), "192.0.2.10:8000 198.51.100.7:8000");
    environment_["IP"] = "203.0.113.1 203.0.113.3:9000";
    EXPECT_EQ(found(), "203.0.113.1:8000 203.0.113.3:9000");
}

TEST_F(CandidatesTest, AMachineWithALoopbackAloneOffersThat) {
    sources_.local = {{"lo", "127.0.0.1", true}};
    EXPECT_EQ(found(), "127.0.0.1:8000");
}

TEST_F(CandidatesTest, AreBounded) {
    sources_.local.clear();
    for (int i = 0; i < 100; ++i) sources_.local.push_back({"e", "10.0.0." + std::to_string(i), false});
    EXPECT_EQ(find_candidates({rtc_, "", "", udp_, tcp_}, sources_)->size(), kMaxHosts);
}

TEST(LocalAddresses, HasALoopback) {
    bool loopback = false;
    for (const LocalAddress& one : runtime::local_addresses()) loopback |= one.loopback && one.ip == "127.0.0.1";
    EXPECT_TRUE(loopback);
}

}  // namespace
}  // namespace service::rtc
