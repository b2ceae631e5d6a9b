#include "media/nalu.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace media {

using base::hex;

using Bytes = std::vector<uint8_t>;

TEST(Nalu, RemovesEmulationPrevention) {
    EXPECT_EQ(remove_emulation_prevention(hex("67 000003 01 000003 000003")), hex("67 0000 01 0000 0000"));
    EXPECT_EQ(remove_emulation_prevention(hex("00 03 00 00 04")), hex("00 03 00 00 04"));
    EXPECT_EQ(remove_emulation_prevention(hex("01 02 03 04"), 2), hex("01 02"));
    EXPECT_TRUE(remove_emulation_prevention({}).empty());
}

TEST(Nalu, IteratesOverLengthPrefixedUnits) {
    Bytes payload = hex("00000002 6501 00000000 00000001 41");
    NaluReader reader(payload, 4);
    auto first = reader.next();
    ASSERT_TRUE(first);
    EXPECT_EQ(Bytes(first->begin(), first->end()), hex("6501"));
    auto second = reader.next();  // the empty unit is skipped
    ASSERT_TRUE(second);
    EXPECT_EQ(second->size(), 1u);
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.ok());
}

TEST(Nalu, EveryCutIsNoticed) {
    for (int size : {1, 2, 4}) {
        Bytes payload(static_cast<size_t>(size - 1), 0);
        payload.insert(payload.end(), {2, 0x65, 0x01});
        for (size_t cut = 1; cut < payload.size(); ++cut) {
            NaluReader reader({payload.data(), cut}, size);
            EXPECT_FALSE(reader.next());
            EXPECT_FALSE(reader.ok()) << size << " " << cut;
        }
    }
}

TEST(Nalu, IteratesOverAnnexB) {
    struct Case {
        const char* stream;
        std::vector<Bytes> units;
    };
    const Case cases[] = {
        {"00000001 6764 000001 68eb 00000001 6588", {hex("6764"), hex("68eb"), hex("6588")}},
        {"000001 67 0000 000001 68 00", {hex("67"), hex("68")}},
        {"ff 000001 67", {hex("67")}},
        {"000001 000001 000001", {}},
        {"000001", {}},
        {"0000", {}},
        {"", {}},
        {"000001 67 000003 01", {hex("67 000003 01")}},
    };
    for (const Case& c : cases) {
        Bytes stream = hex(c.stream);
        AnnexBReader reader(stream);
        std::vector<Bytes> units;
        while (auto unit = reader.next()) units.emplace_back(unit->begin(), unit->end());
        EXPECT_EQ(units, c.units) << c.stream;
    }
}

TEST(Nalu, AppendsWithLength) {
    base::SliceBuilder out;
    append_length_prefixed(out, hex("6588"));
    append_length_prefixed(out, {});
    EXPECT_EQ(out.freeze(), base::Slice::copy(hex("00000002 6588 00000000")));
}

}  // namespace media
