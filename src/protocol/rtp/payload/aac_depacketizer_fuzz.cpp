#include "protocol/rtp/payload/fuzz_testing.h"

// The first three bytes are the lengths of the AU header's fields, the fourth a constant size. 13, 3, 3, 0 is AAC-hbr.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 4) return 0;
    rtp::PayloadFormat format;
    format.codec = media::Codec::kAac;
    format.clock_rate = 48'000;
    format.channels = 2;
    format.size_length = data[0] % 17;
    format.index_length = data[1] % 17;
    format.index_delta_length = data[2] % 17;
    format.constant_size = data[3];
    return rtp::testing::fuzz_depacketizer(format, data + 4, size - 4);
}
