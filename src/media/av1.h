#pragma once
// AV1's configuration: the AV1CodecConfigurationRecord (AV1 in ISOBMFF, 2.3), iterating over OBUs (AV1 Bitstream, 5.3)
// and the sequence header OBU (5.5): profile, level, size, and colour information for the record. It parses no frame
// headers.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/slice.h"

namespace media {

namespace av1 {
enum ObuType : uint8_t { kSequenceHeader = 1, kTemporalDelimiter = 2, kFrameHeader = 3, kFrame = 6, kTileList = 8 };
}

struct Av1Sequence {
    uint8_t profile = 0;
    uint8_t level_idx = 0;  // 0 is 2.0, 31 no limit
    bool high_tier = false;
    int width = 0;  // the largest frame, pixels
    int height = 0;
};

struct Av1Config {
    uint8_t profile = 0;
    uint8_t level_idx = 0;
    bool high_tier = false;
    int bit_depth = 8;
    std::optional<Av1Sequence> sequence;  // if the record contains a sequence header
};

struct Obu {
    uint8_t type = 0;
    std::span<const uint8_t> payload;
};

// Iterates over the OBUs of the low overhead format. An OBU without a size is the last one.
class ObuReader {
  public:
    explicit ObuReader(std::span<const uint8_t> bytes) : rest_(bytes) {}
    std::optional<Obu> next();
    bool ok() const { return ok_; }

  private:
    std::span<const uint8_t> rest_;
    bool ok_ = true;
};

base::Result<Av1Config> parse_av1_config(std::span<const uint8_t> record);
// payload: of a sequence header OBU, without the OBU's header.
base::Result<Av1Sequence> parse_av1_sequence(std::span<const uint8_t> payload);

// Builds the record with the sequence header in it. payload: as above; it must be complete.
base::Result<base::Slice> make_av1_config(std::span<const uint8_t> payload);

// The size of a leb128 (4.10.5), at most 5 bytes; put_leb128() returns the end of the written bytes.
size_t leb128_size(uint32_t value);
uint8_t* put_leb128(uint8_t* p, uint32_t value);

std::string_view av1_profile_name(uint8_t profile);
std::string av1_level_name(uint8_t level_idx);  // "3.1"

}  // namespace media
