// Written packets are read back and compared byte by byte with the specifications; invalid ones are refused.
#include <gtest/gtest.h>

#include "protocol/rtcp/rtcp_testing.h"

namespace rtcp {
namespace {

struct Paper {
    Bytes memory = Bytes(1200);
    Writer writer{memory};
    Bytes bytes() const { return {writer.written().begin(), writer.written().end()}; }
    std::string text() const { return read(writer.written()); }
};

TEST(Rtcp, ACompoundOfReportsAndFeedback) {
    Paper paper;
    ReportBlock blocks[] = {{11, 64, -3, 0x10005, 90, 0xaabbccdd, 65'536}, {12, 0, 8'388'607, 5, 0, 0, 0}};
    EXPECT_TRUE(paper.writer.sender_report({1, 0x1122334455667788, 90'000, 1000, 100'000}, blocks));
    EXPECT_TRUE(paper.writer.cname(1, "srs"));
    EXPECT_TRUE(paper.writer.pli(1, 11));
    EXPECT_EQ(paper.text(),
              "sr 1 1122334455667788 90000 1000 100000\n"
              "block of 1: 11 64 -3 65541 90 2864434397 65536\n"
              "block of 1: 12 0 8388607 5 0 0 0\n"
              "cname 1 srs\n"
              "pli 1 11");
}

TEST(Rtcp, BytesOfEachPacket) {
    struct {
        const char* what;
        bool (*write)(Writer&);
        Bytes bytes;
        const char* text;
    } rows[] = {
        {"empty receiver report",
         [](Writer& w) { return w.receiver_report(0x01020304); },
         {0x80, 201, 0, 1, 1, 2, 3, 4},
         ""},
        {"PLI", [](Writer& w) { return w.pli(1, 2); }, {0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2}, "pli 1 2"},
        {"FIR",
         [](Writer& w) { return w.fir(1, 2, 9); },
         {0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 9, 0, 0, 0},
         "fir 1 2 9"},
        {"BYE",
         [](Writer& w) {
             uint32_t s[] = {5, 6};
             return w.bye(s);
         },
         {0x82, 203, 0, 2, 0, 0, 0, 5, 0, 0, 0, 6},
         "bye 5\nbye 6"},
        {"SDES",
         [](Writer& w) { return w.cname(7, "ab"); },
         {0x81, 202, 0, 3, 0, 0, 0, 7, 1, 2, 'a', 'b', 0, 0, 0, 0},
         "cname 7 ab"},
        {"SDES that needs no padding beyond its end",
         [](Writer& w) { return w.cname(7, "abcde"); },
         {0x81, 202, 0, 3, 0, 0, 0, 7, 1, 5, 'a', 'b', 'c', 'd', 'e', 0},
         "cname 7 abcde"},
        {"NACK",
         [](Writer& w) {
             uint16_t s[] = {65'535, 0, 15, 16};
             return w.nack(1, 2, s) == 4;
         },
         {0x81, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xff, 0x80, 0x01, 0, 16, 0, 0},
         "nack 1 2: 65535 0 15 16"},
        // 262,143 << 2
        {"REMB",
         [](Writer& w) {
             uint32_t s[] = {3};
             return w.remb(1, 1'048'575, s);
         },
         {0x8f, 206, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0, 'R', 'E', 'M', 'B', 1, 0x0b, 0xff, 0xff, 0, 0, 0, 3},
         "remb 1 1048572: 3"},
    };
    for (const auto& row : rows) {
        Paper paper;
        EXPECT_TRUE(row.write(paper.writer)) << row.what;
        EXPECT_EQ(paper.bytes(), row.bytes) << row.what;
        EXPECT_EQ(paper.text(), row.text) << row.what;
        Bytes small(row.bytes.size() - 1);
        Writer cramped(small);
        EXPECT_FALSE(row.write(cramped)) << row.what << " in one byte less";
    }
}

TEST(Rtcp, NacksOfManyHoles) {
    std::vector<uint16_t> all;
    std::string expected = "nack 1 2:";
    for (int i = 0; i < 200; ++i) {
        all.push_back(static_cast<uint16_t>(65'000 + i * 7));
        expected += fmt::format(" {}", all.back());
    }
    Paper paper;
    EXPECT_EQ(paper.writer.nack(1, 2, all), all.size());
    EXPECT_EQ(paper.text(), expected);
    Bytes small(4 + 8 + 3 * 4);
    Writer cramped(small);
    EXPECT_EQ(cramped.nack(1, 2, all), 9u) << "three entries of three";
    EXPECT_EQ(read(cramped.written()).substr(0, 25), expected.substr(0, 25));
    EXPECT_EQ(cramped.nack(1, 2, all), 0u);
}

TEST(Rtcp, RembOfAllSizes) {
    for (uint64_t rate : {uint64_t{0}, uint64_t{1}, uint64_t{262'143}, uint64_t{2'500'000}, uint64_t{1} << 63}) {
        Paper paper;
        EXPECT_TRUE(paper.writer.remb(1, rate, {}));
        uint64_t read_rate = std::stoull(paper.text().substr(7));
        EXPECT_LE(read_rate, rate);
        EXPECT_GE(static_cast<double>(read_rate), static_cast<double>(rate) * 0.9999);
    }
}

TEST(Rtcp, ReducedSizeNeedsNoReport) {
    Paper paper;
    paper.writer.pli(1, 2);
    paper.writer.fir(1, 2, 3);
    EXPECT_EQ(paper.text(), "pli 1 2\nfir 1 2 3");
}

TEST(Rtcp, WhatIsUnknownIsPassedOver) {
    Bytes bytes = {0x80, 204, 0, 2, 0, 0, 0, 1, 'n', 'a', 'm', 'e',              // APP
                   0x80, 207, 0, 1, 0, 0, 0, 1,                                  // XR
                   0x82, 206, 0, 2, 0, 0, 0, 1, 0,   0,   0,   2,                // SLI
                   0x8f, 206, 0, 3, 0, 0, 0, 1, 0,   0,   0,   2,   1, 2, 3, 4,  // AFB other than REMB
                   0x81, 206, 0, 2, 0, 0, 0, 1, 0,   0,   0,   2};
    EXPECT_EQ(read(bytes), "pli 1 2\nunknown 4");
}

TEST(Rtcp, PaddingInTheLastPacketAlone) {
    EXPECT_EQ(read(Bytes{0xa1, 206, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4}), "pli 1 2");
    EXPECT_EQ(read(Bytes{0xa1, 206, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0x80, 201, 0, 1, 0, 0, 0, 0}),
              "not framed");
    EXPECT_EQ(read(Bytes{0xa1, 206, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3}), "not framed");
    EXPECT_EQ(read(Bytes{0xa1, 206, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0}), "not framed");
    EXPECT_EQ(read(Bytes{0xa1, 206, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 16}), "not framed");
}

TEST(Rtcp, AbsurdLengthsAreRefusedAndNothingOfThemTold) {
    Bytes pli = {0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2};
    for (size_t size = 0; size < pli.size(); ++size) {
        EXPECT_EQ(read(std::span(pli).first(size)), "not framed") << size;
    }
    Bytes two = pli;
    two.insert(two.end(), pli.begin(), pli.end());
    EXPECT_EQ(read(two), "pli 1 2\npli 1 2");
    for (int length = 0; length <= 0xffff; ++length) {
        if (length == 2) continue;
        Bytes wrong = two;
        base::put_u16(&wrong[14], static_cast<uint32_t>(length));
        ASSERT_EQ(read(wrong), "not framed") << "the second packet's length " << length;
    }
    Bytes version = two;
    version[12] = 0x41;
    EXPECT_EQ(read(version), "not framed");
    EXPECT_EQ(read(Bytes{0x80, 201, 0xff, 0xff, 0, 0, 0, 1}), "not framed");
}

TEST(Rtcp, ContentsThatDoNotFitTheirLength) {
    struct {
        const char* what;
        Bytes bytes;
    } rows[] = {
        {"SR without its body", {0x80, 200, 0, 1, 0, 0, 0, 1}},
        {"RR without an SSRC", {0x80, 201, 0, 0}},
        {"RR of 31 blocks in none", {0x9f, 201, 0, 1, 0, 0, 0, 1}},
        {"SDES of one chunk in none", {0x81, 202, 0, 0}},
        {"SDES whose item goes beyond it", {0x81, 202, 0, 2, 0, 0, 0, 1, 1, 200, 'a', 'b'}},
        {"SDES without an end", {0x81, 202, 0, 2, 0, 0, 0, 1, 1, 2, 'a', 'b'}},
        {"BYE of 31 in one", {0x9f, 203, 0, 1, 0, 0, 0, 1}},
        {"feedback without SSRCs", {0x81, 205, 0, 1, 0, 0, 0, 1}},
        {"PLI without SSRCs", {0x81, 206, 0, 0}},
        {"NACK of nothing", {0x81, 205, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2}},
        {"FIR of nothing", {0x84, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2}},
        {"FIR of half an entry", {0x84, 206, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2}},
        {"REMB of 255 SSRCs in none", {0x8f, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 'R', 'E', 'M', 'B', 255, 0, 0, 1}},
        {"REMB of more than 64 bits",
         {0x8f, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 'R', 'E', 'M', 'B', 0, 0xff, 0xff, 0xff}},
        {"TWCC without its head", {0x8f, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0, 1}},
    };
    for (const auto& row : rows) EXPECT_EQ(read(row.bytes), "malformed 1") << row.what;
}

TEST(Rtcp, SdesOfSeveralChunksAndItems) {
    Bytes bytes = {0x82, 202, 0, 6, 0, 0, 0,   1,   2,   1, 'n', 1, 1, 'c', 0, 0,  //
                   0,    0,   0, 2, 1, 3, 'x', 'y', 'z', 0, 0,   0};
    EXPECT_EQ(read(bytes), "cname 1 c\ncname 2 xyz");
}

}  // namespace
}  // namespace rtcp
