#include "base/redaction.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Redaction, HidesWhatIsBehindAQuestionMark) {
    EXPECT_EQ(redact("rtmp://h/live?token=s3cret/cam refused"), "rtmp://h/live?*** refused");
    EXPECT_EQ(redact("GET /live/cam.flv?user=a&password=b -> 200, and /x?k"),
              "GET /live/cam.flv?*** -> 200, and /x?***");
    EXPECT_EQ(redact("'rtsp://h/cam?key=it's': no answer"), "'rtsp://h/cam?***': no answer") << "a quote may be in it";
    EXPECT_EQ(redact("hook http://h/?token=a,b): status 500"), "hook http://h/?***): status 500");
    EXPECT_EQ(redact("live/cam%3Ftoken=a live/cam%3fkey=b"), "live/cam%3F*** live/cam%3f***");
    EXPECT_EQ(redact("rtmp://h/live...token...abc/cam is odd"), "rtmp://h/live...*** is odd");
}

TEST(Redaction, HidesUserAndPassword) {
    EXPECT_EQ(redact("rtsp://u:p@h/a http://h/b@c rtsps://p@ss:w@[::1]:1/x"),
              "rtsp://***@h/a http://h/b@c rtsps://***@[::1]:1/x");
    EXPECT_EQ(redact("rtsp://u:p'w@h/a?x=1 'http://u:p@h' is away"), "rtsp://***@h/a?*** 'http://***@h' is away");
}

// XM's cameras have their password in the path.
TEST(Redaction, HidesParametersThatAreNamedAsSecrets) {
    EXPECT_EQ(redact("rtsp://h/user=admin&password=tlJ&channel=1/live.sdp"),
              "rtsp://h/user=admin&password=***&channel=1/live.sdp");
    EXPECT_EQ(redact("Access_Token=abc, PASSWD=x."), "Access_Token=***, PASSWD=***.");
}

TEST(Redaction, LeavesProseAlone) {
    for (const char* same :
         {"", "?", "why? it is not there", "is it 'a'?", "(what?)", "control { allow ...; }", "... (3 bytes more)",
          "a...", "://", "h:1936 x@y", "100%", "key=./conf/server.key", "token= is empty"}) {
        EXPECT_EQ(redact(same), same);
        EXPECT_FALSE(has_secrets(same)) << same;
    }
}

TEST(Redaction, OfARedactedTextIsThatText) {
    for (const char* text : {"rtsp://u:p@h/a?b=c d", "x...y...z?a", "/a/password=b/c?d", "live/cam%3Ftoken=a"}) {
        const std::string once = redact(text);
        EXPECT_TRUE(has_secrets(text));
        EXPECT_FALSE(has_secrets(once)) << once;
        EXPECT_EQ(redact(once), once);
    }
}

TEST(Redaction, KeepsJsonWhole) {
    EXPECT_EQ(redact(R"({"a":"x?k=v","b":["rtsp://u:p@h","y?k=\"q\" r"],"c":1})"),
              R"({"a":"x?***","b":["rtsp://***@h","y?***\"q\" r"],"c":1})");
}

TEST(Redaction, OfCredentialsAlone) {
    EXPECT_EQ(hide_credentials("rtsp://u:p@h/a http://h/b@c rtsps://p@ss:w@[::1]:1/x?y=z"),
              "rtsp://***@h/a http://h/b@c rtsps://***@[::1]:1/x?y=z");
    for (const char* same : {"", "a b", "://", "h:1936 x@y", "rtmp://h/live/s?a=b@c"})
        EXPECT_EQ(hide_credentials(same), same);
}

TEST(Redaction, BareUrls) {
    EXPECT_EQ(bare_url("rtmp://h/live?token=a b/c"), "rtmp://h/live") << "a space does not end a field";
    EXPECT_EQ(bare_url("http://u:p@h/page#access"), "http://***@h/page");
    EXPECT_EQ(bare_url("rtmp://h/live...vhost...v"), "rtmp://h/live");
    EXPECT_EQ(bare_url("rtmp://h/live%3Fk"), "rtmp://h/live");
    EXPECT_EQ(bare_url("rtmp://10.0.0.1:1936/live"), "rtmp://10.0.0.1:1936/live");
    EXPECT_EQ(bare_url(""), "");
}

TEST(Redaction, NamesOfSecrets) {
    for (const char* name : {"password", "tokens", "read_tokens", "secret", "passphrase"})
        EXPECT_TRUE(names_secret(name));
    for (const char* name : {"", "username", "hls_key_file", "pass", "listen"})
        EXPECT_FALSE(names_secret(name)) << name;
}

}  // namespace
}  // namespace base
