#include "protocol/ts/av1_units.h"

#include <optional>

#include "media/av1.h"
#include "media/nalu.h"

namespace ts {
namespace {

using base::Code;
using base::fail;
using base::Result;
namespace av1 = media::av1;

constexpr uint8_t kHasSize = 0x02, kHasExtension = 0x04;

class UnitWriter {
  public:
    explicit UnitWriter(size_t capacity) : payload_(capacity) {}

    Result<void> take(std::span<const uint8_t> obus) {
        media::ObuReader reader(obus);
        const uint8_t* at = obus.data();
        while (auto obu = reader.next()) {
            const bool extended = at[0] & kHasExtension;
            const uint8_t head[] = {static_cast<uint8_t>(at[0] | kHasSize), extended ? at[1] : uint8_t{0}};
            at = obu->payload.data() + obu->payload.size();
            if (obu->type == av1::kTemporalDelimiter || obu->type == av1::kTileList) continue;
            const auto size = static_cast<uint32_t>(obu->payload.size());
            payload_.append(std::span(head, extended ? 2 : 1));
            media::put_leb128(payload_.extend(media::leb128_size(size)), size);
            payload_.append(obu->payload);
            TRY(look_at(*obu));
        }
        if (!reader.ok()) return fail(Code::kProtocol, "AV1: an OBU runs past the end of its unit");
        return {};
    }

    // A unit without a frame is none.
    Result<Av1Unit> finish() {
        if (!first_is_key_) return fail(Code::kProtocol, "AV1: a temporal unit without a frame");
        return Av1Unit{payload_.freeze(), std::move(config_), has_sequence_ && *first_is_key_};
    }

  private:
    Result<void> look_at(const media::Obu& obu) {
        if (obu.type == av1::kSequenceHeader) {
            has_sequence_ = true;
            config_ = TRY(media::make_av1_config(obu.payload));
        }
        // show_existing_frame is the first bit, frame_type the next two: 0 is a key frame (5.9.2).
        const bool is_frame = obu.type == av1::kFrameHeader || obu.type == av1::kFrame;
        if (is_frame && !first_is_key_ && !obu.payload.empty()) first_is_key_ = (obu.payload[0] & 0xe0) == 0;
        return {};
    }

    base::SliceBuilder payload_;
    base::Slice config_;
    bool has_sequence_ = false;
    std::optional<bool> first_is_key_;
};

bool has_start_code(std::span<const uint8_t> pes) {
    // As OBUs these bytes would be of a reserved type.
    return pes.size() > 3 && pes[0] == 0 && pes[1] == 0 && (pes[2] == 1 || (pes[2] == 0 && pes[3] == 1));
}

}  // namespace

Result<Av1Unit> read_av1_unit(std::span<const uint8_t> pes) {
    UnitWriter writer(pes.size() + 64);
    if (!has_start_code(pes)) {
        TRY(writer.take(pes));
        return writer.finish();
    }
    media::AnnexBReader units(pes);
    while (const auto unit = units.next()) TRY(writer.take(media::remove_emulation_prevention(*unit)));
    return writer.finish();
}

}  // namespace ts
