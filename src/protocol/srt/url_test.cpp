#include "protocol/srt/url.h"

#include <gtest/gtest.h>

#include <string>

#include "base/result.h"

namespace srt {
namespace {

// "host port id passphrase key-size receive peer", with "-" for what is empty; or the text of an error.
std::string url_of(std::string_view text) {
    const auto url = parse_url(text);
    if (!url) return url.error().text();
    const auto shown = [](const std::string& field) { return field.empty() ? "-" : field; };
    return fmt::format("{} {} {} {} {} {} {}", url->host, url->port, shown(url->stream_id), shown(url->passphrase),
                       url->key_size, url->receive_latency_ms, url->peer_latency_ms);
}

TEST(SrtUrl, Forms) {
    EXPECT_EQ(url_of("srt://h:10080"), "h 10080 - - 16 120 120");
    EXPECT_EQ(url_of("SRT://h:10080/"), "h 10080 - - 16 120 120");
    EXPECT_EQ(url_of("srt://[::1]:9000?mode=caller&transtype=live"), "::1 9000 - - 16 120 120");
    EXPECT_EQ(url_of("srt://h:1?streamid=#!::r=live/s,m=publish&latency=300"),
              "h 1 #!::r=live/s,m=publish - 16 300 300");
    EXPECT_EQ(url_of("srt://h:1?streamid=%23!::r=a%26b"), "h 1 #!::r=a&b - 16 120 120");
    EXPECT_EQ(url_of("srt://h:1/?streamid=read:live/s&passphrase=0123456789&pbkeylen=32"),
              "h 1 read:live/s 0123456789 32 120 120");
    EXPECT_EQ(url_of("srt://h:1?rcvlatency=10&peerlatency=20&latency=30"), "h 1 - - 16 10 20");
    EXPECT_EQ(url_of("srt://h:1?passphrase=a%20b%25c%3d+efgh&pbkeylen=0"), "h 1 - a b%c=+efgh 16 120 120");
    EXPECT_EQ(url_of("srt://h:1?pkt_size=1316&maxbw=0&&linger=1"), "h 1 - - 16 120 120");
    EXPECT_EQ(parse_url("srt://h:1?passphrase=0123456789")->shown, "srt://h:1");
}

TEST(SrtUrl, Errors) {
    EXPECT_EQ(url_of("rtmp://h/a"), "it does not begin with srt://");
    EXPECT_EQ(url_of("srt:/h:1"), "it does not begin with srt://");
    EXPECT_EQ(url_of("srt://h"), "write srt://HOST:PORT");
    EXPECT_EQ(url_of("srt://h:0"), "write srt://HOST:PORT");
    EXPECT_EQ(url_of("srt://:9000"), "write srt://HOST:PORT");
    EXPECT_EQ(url_of("srt://u:p@h:1"), "SRT has no user: write ?passphrase= or a stream id");
    EXPECT_EQ(url_of("srt://h:1/live/s"), "SRT has no path: write srt://HOST:PORT?streamid=...");
    EXPECT_EQ(url_of("srt://h:1#x"), "SRT has no path: write srt://HOST:PORT?streamid=...");
    EXPECT_EQ(url_of("srt://h:1? "), "the URL has a space or a control character");
    EXPECT_EQ(url_of("srt://h:1?mode=listener"), "mode is caller: this server calls");
    EXPECT_EQ(url_of("srt://h:1?transtype=file"), "transtype is live");
    EXPECT_EQ(url_of("srt://h:1?latency=120000"), "latency is a number up to 60000 (ms)");
    EXPECT_EQ(url_of("srt://h:1?peerlatency=-1"), "peerlatency is a number up to 60000 (ms)");
    EXPECT_EQ(url_of("srt://h:1?pbkeylen=20"), "pbkeylen is 16, 24 or 32 bytes");
    EXPECT_EQ(url_of("srt://h:1?passphrase=short"), "a passphrase of SRT has 10 to 80 bytes");
    EXPECT_EQ(url_of("srt://h:1?passphrase=%zz"), "passphrase is not percent-encoded as it has to be");
    EXPECT_EQ(url_of("srt://h:1?streamid=a%0ab"), "streamid has at most 512 bytes, and no control characters");
    EXPECT_EQ(url_of("srt://h:1?streamid=" + std::string(513, 'a')),
              "streamid has at most 512 bytes, and no control characters");
    EXPECT_EQ(url_of("srt://h:1?pasphrase=secret"), "SRT has no parameter pasphrase");
}

std::string made(const base::StreamKey& stream, std::string_view params = {}, StreamMode mode = StreamMode::kRequest,
                 std::string_view path = {}) {
    const auto id = make_stream_id(mode, stream, params, path);
    return id ? *id : id.error().text();
}

TEST(SrtUrl, StreamIds) {
    EXPECT_EQ(made({"", "live", "s"}), "#!::r=live/s,m=request");
    EXPECT_EQ(made({"v.com", "a/b", "s"}, "", StreamMode::kPublish), "#!::h=v.com,r=a/b/s,m=publish");
    EXPECT_EQ(made({"", "live", "s"}, "?token=x&k=y%2cz"), "#!::r=live/s,m=request,token=x,k=y%2cz");
    EXPECT_EQ(made({"", "live", "s"}, "?r=live/other&m=publish&h=v&vhost=v&domain=v&a=1"),
              "#!::r=live/s,m=request,a=1");
    EXPECT_EQ(made({"", "live", "s"}, "?a=1,r=x&b=2?m=publish&c=3"), "#!::r=live/s,m=request,c=3");
    EXPECT_EQ(made({"", "live", "s"}, "?a=1&b=" + std::string(600, 'x')), "#!::r=live/s,m=request,a=1");
    EXPECT_EQ(made({"", "live", "s,m=publish"}), "a name with characters that have a meaning in a stream id");
    EXPECT_EQ(made({"", "live", "s"}, "?k=v&via=z", StreamMode::kRequest, "a,b,,c"),
              "#!::r=live/s,m=request,via=a:b:c,k=v");
    EXPECT_EQ(parse_stream_id("#!::r=live/s,via=a:b:c,k=v", {})->path, "a,b,c");
    EXPECT_EQ(parse_stream_id("#!::r=live/s,via=a:b:c,k=v", {})->params, "k=v");
    const std::string name(100, 'n');
    EXPECT_EQ(made({"", "live", "s"}, "", StreamMode::kRequest, name + "," + name + "," + name),
              "#!::r=live/s,m=request,via=" + name + ":" + name);
    EXPECT_EQ(made({"", "live", std::string(600, 's')}), "the stream id would have more than 512 bytes");
}

}  // namespace
}  // namespace srt
