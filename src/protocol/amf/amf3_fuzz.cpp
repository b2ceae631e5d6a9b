// A value that decodes must be unchanged by a round trip, which goes by AMF0: AMF3 is only read.
#include <cstddef>
#include <cstdint>

#include "protocol/amf/amf0.h"
#include "protocol/amf/amf3.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    base::ByteReader reader({data, size});
    auto value = amf::decode_amf3(reader);
    if (!value) {
        CHECK(!value.error().text().empty());
        return 0;
    }
    std::vector<uint8_t> out;
    base::ByteWriter writer(out);
    amf::encode_amf0(*value, writer);
    base::ByteReader again(out);
    auto second = amf::decode_amf0(again, {.depth = 64, .values = UINT32_MAX, .text = UINT32_MAX});
    CHECK(second.has_value());
    CHECK(again.left() == 0);
    std::vector<uint8_t> third;
    base::ByteWriter third_writer(third);
    amf::encode_amf0(*second, third_writer);
    CHECK(third == out);  // compared as bytes: NaN is not equal to itself
    return 0;
}
