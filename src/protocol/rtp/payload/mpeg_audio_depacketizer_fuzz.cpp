#include "protocol/rtp/payload/fuzz_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    return rtp::testing::fuzz_depacketizer(media::Codec::kMp3, data, size);
}
