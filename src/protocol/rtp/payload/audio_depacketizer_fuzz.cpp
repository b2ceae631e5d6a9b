#include "protocol/rtp/payload/fuzz_testing.h"

// The first byte selects Opus or one of the G.711 codecs.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    auto codec = data[0] % 3 == 0   ? media::Codec::kOpus
                 : data[0] % 3 == 1 ? media::Codec::kPcmAlaw
                                    : media::Codec::kPcmUlaw;
    return rtp::testing::fuzz_depacketizer(codec, data + 1, size - 1);
}
