#include "load/srt/ts_script.h"

#include <gtest/gtest.h>

namespace load::srt {
namespace {

using Bytes = std::vector<uint8_t>;

void add_packet(Bytes& file) {
    file.insert(file.end(), {0x47, 0x01, 0x00, 0x10});
    file.resize(file.size() + 184, 0xff);
}

void add_reference(Bytes& file, int64_t ticks) {
    const size_t at = file.size();
    add_packet(file);
    file[at + 3] = 0x30;
    file[at + 4] = 7;
    file[at + 5] = 0x10;
    for (size_t i = 0; i < 4; ++i) file[at + 6 + i] = static_cast<uint8_t>(ticks >> (25 - 8 * i));
    file[at + 10] = static_cast<uint8_t>((ticks & 1) << 7 | 0x7e);
}

TEST(TsScriptTest, AMessageEndsAfterSevenPacketsAndWhereTheClockGoesOn) {
    Bytes file;
    add_reference(file, 9000);
    for (int i = 0; i < 8; ++i) add_packet(file);
    add_reference(file, 12'600);
    auto script = TsScript::parse(file);
    ASSERT_TRUE(script) << script.error().text();
    ASSERT_EQ(script->size(), 3u);
    EXPECT_EQ(script->at(0).bytes.size(), 7u * 188);
    EXPECT_EQ(script->at(1).bytes.size(), 2u * 188);
    EXPECT_EQ(script->at(1).time_us, 0);
    EXPECT_EQ(script->at(2).time_us, 40'000);
}

TEST(TsScriptTest, TheNextRoundGoesOnByOneStepOfTheClock) {
    Bytes file;
    add_reference(file, 0);
    add_reference(file, 3600);
    add_reference(file, 7200);
    auto script = TsScript::parse(file);
    ASSERT_TRUE(script) << script.error().text();
    EXPECT_EQ(script->round_us(), 120'000);
    EXPECT_EQ(script->at(4).time_us, 160'000);
    EXPECT_EQ(script->at(4).bytes.data(), script->at(1).bytes.data());
}

TEST(TsScriptTest, AClockThatWrapsGoesOn) {
    Bytes file;
    add_reference(file, (int64_t{1} << 33) - 1800);
    add_reference(file, 1800);
    auto script = TsScript::parse(file);
    ASSERT_TRUE(script) << script.error().text();
    EXPECT_EQ(script->at(1).time_us, 40'000);
}

TEST(TsScriptTest, WhatIsNoTransportStreamWithAClockIsRefused) {
    Bytes cut, without_clock, back, sync;
    add_packet(without_clock);
    cut.assign(without_clock.begin(), without_clock.end() - 1);
    add_reference(back, 3600);
    add_reference(back, 0);
    add_reference(sync, 0);
    add_reference(sync, 3600);
    sync[188] = 0;
    for (const Bytes& file : {Bytes(), cut, without_clock, back, sync}) EXPECT_FALSE(TsScript::parse(file));
}

}  // namespace
}  // namespace load::srt
