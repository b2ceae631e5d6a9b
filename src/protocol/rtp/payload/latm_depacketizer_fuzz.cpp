#include "protocol/rtp/payload/fuzz_testing.h"

// The first byte is the length of the StreamMuxConfig that follows; 0: it is in the packets.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0 || data[0] >= size) return 0;
    rtp::PayloadFormat format;
    format.codec = media::Codec::kAac;
    format.clock_rate = 48'000;
    format.latm = true;
    format.latm_config_in_band = data[0] == 0;
    format.latm_config = base::Slice::copy(std::span(data + 1, data[0]));
    return rtp::testing::fuzz_depacketizer(format, data + 1 + data[0], size - 1 - data[0]);
}
