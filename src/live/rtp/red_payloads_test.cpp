#include "live/rtp/red_payloads.h"

#include <gtest/gtest.h>

#include <string>

namespace live {
namespace {

struct Scene {
    RtpRing ring{{.packets = 256}};
    RedPayloads red;

    void put(uint64_t sequence, uint32_t timestamp, const std::string& payload) {
        RtpPacket packet;
        packet.track = 1;
        packet.sequence = sequence;
        packet.timestamp = timestamp;
        ring.append(std::move(packet), {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()});
    }
    // Without the headers of its blocks.
    std::string of(uint64_t sequence, uint8_t payload_type = 111) {
        const RtpPacket* packet = ring.find(1, sequence);
        if (!packet) return "none";
        const std::string_view text = red.of(ring, *packet, payload_type).text();
        size_t at = 0;
        while (static_cast<uint8_t>(text[at]) & 0x80) at += 4;
        return std::string(text.substr(at + 1));
    }
};

TEST(RedPayloads, HaveThePacketsBeforeThatAreThere) {
    Scene scene;
    scene.put(10, 960, "a");
    scene.put(11, 1'920, "b");
    scene.put(12, 2'880, "c");
    scene.put(14, 4'800, "e");
    EXPECT_EQ(scene.of(10), "a");
    EXPECT_EQ(scene.of(11), "ab");
    EXPECT_EQ(scene.of(12), "abc");
    EXPECT_EQ(scene.of(14), "e") << "13 was lost on the way to us";
    EXPECT_EQ(scene.of(12, 100), "abc");
}

TEST(RedPayloads, WhatDoesNotFitIsLeftOut) {
    Scene scene;
    scene.put(10, 0, "x");
    scene.put(11, 20'000, "far");
    EXPECT_EQ(scene.of(11), "far") << "14 bits of ticks";
    scene.put(12, 20'960, std::string(1'100, 'l'));
    EXPECT_EQ(scene.of(12).size(), 1'100u + 3);
    scene.put(13, 21'920, "y");
    EXPECT_EQ(scene.of(13), "y") << "10 bits of bytes";
    scene.put(14, 22'880, std::string(1'400, 'l'));
    EXPECT_EQ(scene.of(14).size(), 1'400u);
}

TEST(RedPayloads, AreMadeOnceForAll) {
    Scene scene;
    scene.put(10, 960, "a");
    const RtpPacket& packet = *scene.ring.find(1, 10);
    const uint8_t* first = scene.red.of(scene.ring, packet, 111).data();
    EXPECT_EQ(scene.red.of(scene.ring, packet, 111).data(), first);
    for (uint64_t i = 11; i < 200; ++i) {
        scene.put(i, static_cast<uint32_t>(960 * i), std::string(100, 'z'));
        (void)scene.of(i);
    }
    EXPECT_LE(scene.red.memory(), 64u * 320) << "of the last ones alone";
}

}  // namespace
}  // namespace live
