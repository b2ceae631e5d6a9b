#include "service/caster/ingests.h"

#include <gtest/gtest.h>

#include <string>

namespace service::caster {
namespace {

struct UdpIngestCase {
    std::string url;
    std::string expected;  // "listen interface source output", or the error's text
};

TEST(Ingests, AreCastersOfTheirUrl) {
    for (const auto& [url, expected] : {
             UdpIngestCase{"udp://239.1.1.1:8935", "239.1.1.1:8935   rtmp://v/live/i"},
             UdpIngestCase{"udp://@239.1.1.1:8935?interface=eth0&source=192.0.2.7&fifo_size=9",
                           "239.1.1.1:8935 eth0 192.0.2.7 rtmp://v/live/i"},
             UdpIngestCase{"udp://127.0.0.1:1/?sources=192.0.2.7", "127.0.0.1:1  192.0.2.7 rtmp://v/live/i"},
             UdpIngestCase{"rtp://[::1]:8935", "[::1]:8935   rtmp://v/live/i"},
             UdpIngestCase{"udp://:8935", "8935   rtmp://v/live/i"},
             UdpIngestCase{"udp://239.1.1.1", "ingest i: the url has no port"},
             UdpIngestCase{"udp://239.1.1.1:0", "ingest i: the url has no port"},
             UdpIngestCase{"udp://239.1.1.1:65536", "ingest i: url: the port is no number up to 65535"},
             UdpIngestCase{"udp://camera:8935", "ingest i: 'camera' is no IP address"},
             UdpIngestCase{"udp://239.1.1.1:8935?source=x", "ingest i: source 'x' is no IP address"},
             UdpIngestCase{"http://239.1.1.1:8935", "ingest i: url 'http://239.1.1.1:8935' is not udp://HOST:PORT"},
             UdpIngestCase{"", "ingest i: url '' is not udp://HOST:PORT"},
         }) {
        Ingest ingest;
        ingest.name = "i";
        ingest.type = "udp";
        ingest.url = url;
        const auto caster = caster_of(ingest, "v");
        const std::string got = caster ? fmt::format("{} {} {} {}", caster->listen.front().text(), caster->interface,
                                                     caster->source, caster->output)
                                       : caster.error().text();
        EXPECT_EQ(got, expected) << url;
    }
}

}  // namespace
}  // namespace service::caster
