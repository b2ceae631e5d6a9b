#include "service/cluster/config.h"

#include <gtest/gtest.h>

namespace service::cluster {
namespace {

config::Snapshot snapshot() {
    config::Snapshot s = *config::default_snapshot();
    s.rtmp.listen = {{"", 1935}, {"127.0.0.1", 1936}};
    s.http_server.enabled = true;
    s.http_server.listen = {{"0.0.0.0", 8080}};
    s.http_api.enabled = true;
    s.http_api.listen = {{"127.0.0.1", 1985}};
    return s;
}

TEST(ClusterConfig, AServerSaysWhereItListens) {
    config::Snapshot s = snapshot();
    Record self = self_record(s, "192.0.2.1");
    EXPECT_EQ(self.rtmp, "rtmp://192.0.2.1:1935");
    EXPECT_EQ(self.http, "http://192.0.2.1:8080");
    EXPECT_EQ(self.api, "http://127.0.0.1:1985") << "an address of its own";
    self = self_record(s, "2001:db8::1");
    EXPECT_EQ(self.rtmp, "rtmp://[2001:db8::1]:1935");
    s.http_server.enabled = s.http_api.enabled = false;
    self = self_record(s, "192.0.2.1");
    EXPECT_EQ(self.http + self.api, "");
}

TEST(ClusterConfig, AServerSaysWhatItIsToSay) {
    config::Snapshot s = snapshot();
    s.get<ServerConfig>().advertise = {"https://media.example", "rtmps://media.example:443", "rtmp://ignored"};
    Record self = self_record(s, "192.0.2.1");
    EXPECT_EQ(self.rtmp, "rtmps://media.example:443");
    EXPECT_EQ(self.http, "https://media.example");
    s.get<ServerConfig>().advertise = {"http://media.example:80"};
    self = self_record(s, "192.0.2.1");
    EXPECT_EQ(self.rtmp, "rtmp://192.0.2.1:1935") << "what is not named is its own";
    EXPECT_EQ(self.http, "http://media.example:80");
    self.fence = "f";
    EXPECT_TRUE(parse_record(to_text(self)));
}

}  // namespace
}  // namespace service::cluster
