// Program streams whose parts are chosen by the input: maps, packets of each codec, parts of any length, bytes changed,
// gaps, junk between. Fed at once and in pieces: the frames must be the same, and the memory bounded.
#include <cstddef>
#include <cstdint>

#include "protocol/ps/demuxer.h"
#include "protocol/ps/ps_testing.h"
#include "protocol/ps/stream_map.h"
#include "protocol/ts/frame_reader.h"

namespace {

using ps::testing::PsBytes;

constexpr size_t kMaxParts = 64;
constexpr uint8_t kTypes[] = {0x1b, 0x24, 0x0f, 0x90, 0x91, 0x03, 0x80, 0x92};
constexpr uint8_t kIds[] = {0xe0, 0xe1, 0xc0, 0xc1, 0xbd, 0xbc};

struct PlayedPs final : ts::DemuxerSink {
    uint64_t frames = 0, hash = 0, programs = 0;
    ts::FrameReader reader{[this](media::Frame frame) {
        ++frames;
        CHECK(frame.track < ps::kMaxStreamsOfKind);
        CHECK(media::distance(frame.cts, media::Time(0)) <= media::Time(std::chrono::seconds(11)));
        hash = hash * 31 + frame.payload.size() + static_cast<uint64_t>(frame.dts.count());
    }};
    ps::Demuxer demuxer{*this};
    void on_pes(ts::PesPacket packet) override {
        CHECK(packet.stream.track < ps::kMaxStreamsOfKind);
        CHECK(packet.payload.size() <= ts::kMaxPesLength);
        reader.take(packet);
    }
    void on_program(const ts::ProgramMap&) override { ++programs; }
    void feed(std::span<const uint8_t> bytes, size_t step) {
        for (size_t at = 0; at < bytes.size(); at += step)
            demuxer.feed(bytes.subspan(at, std::min(step, bytes.size() - at)));
        CHECK(demuxer.memory() <= 2 * ts::kMaxPesLength);
    }
};

class PsChoices {
  public:
    explicit PsChoices(std::span<const uint8_t> bytes) : bytes_(bytes) {}
    bool empty() const { return bytes_.empty(); }
    uint8_t u8() {
        if (bytes_.empty()) return 0;
        const uint8_t value = bytes_.front();
        bytes_ = bytes_.subspan(1);
        return value;
    }
    PsBytes some(size_t most) {
        const size_t count = std::min<size_t>({u8(), most, bytes_.size()});
        PsBytes out(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(count));
        bytes_ = bytes_.subspan(count);
        return out;
    }

  private:
    std::span<const uint8_t> bytes_;
};

// A beginning of each codec, for the mutations to be near what is valid.
PsBytes ps_elementary(PsChoices& from) {
    static const PsBytes kBegins[] = {
        {0, 0, 0, 1,    0x67, 0x42, 0xc0, 0x1e, 0xd9, 0x00, 0xa0, 0x47, 0xfe, 0xc8,
         0, 0, 1, 0x68, 0xcb, 0x83, 0xcb, 0x20, 0,    0,    1,    0x65, 0x88},
        {0, 0, 1, 0x41, 0x9a, 0x24},
        {0xff, 0xf1, 0x4c, 0x80, 0x02, 0x1f, 0xfc, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xff, 0xf1, 0x4c, 0x80, 0x02, 0x1f, 0xfc},
        {0xff, 0xfd, 0x14, 0x04},
        {},
    };
    PsBytes out = kBegins[from.u8() % std::size(kBegins)];
    const PsBytes more = from.some(255);
    out.insert(out.end(), more.begin(), more.end());
    out.resize(out.size() + (from.u8() % 4) * size_t{300}, 0xff);
    if (!out.empty()) out[from.u8() % out.size()] ^= from.u8();
    return out;
}

PsBytes ps_part(PsChoices& from) {
    switch (from.u8() % 6) {
        case 0:
            return ps::testing::pack(from.u8() & 7);
        case 1: {
            std::vector<std::pair<uint8_t, uint8_t>> streams;
            for (size_t n = from.u8() % 5; n > 0; --n) {
                const uint8_t type = kTypes[from.u8() % std::size(kTypes)];
                streams.emplace_back(type, kIds[from.u8() % std::size(kIds)]);
            }
            return ps::testing::stream_map(streams, from.u8() & 31);
        }
        case 2:
        case 3: {
            const uint8_t id = kIds[from.u8() % std::size(kIds)], form = from.u8();
            const uint64_t time = uint64_t{from.u8()} << 25 | uint64_t{from.u8()} << 10;
            const auto pts = form & 1 ? std::optional(time) : std::nullopt;
            const auto dts = (form & 3) == 3 ? std::optional((time - from.u8()) & 0x1'ffff'ffff) : std::nullopt;
            return ps::testing::packet(id, pts, ps_elementary(from), dts);
        }
        case 4:
            return ps::testing::part(static_cast<uint8_t>(0xb9 + from.u8() % 0x47), from.some(255));
        default:
            return from.some(255);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    PsChoices choices({data + 1, size - 1});
    const size_t step = data[0] + 1u;
    PlayedPs whole, pieces;
    for (size_t n = 0; n < kMaxParts && !choices.empty(); ++n) {
        const uint8_t how = choices.u8();
        PsBytes part = ps_part(choices);
        if (how % 8 == 3 && !part.empty()) part[choices.u8() % part.size()] = choices.u8();
        whole.feed(part, SIZE_MAX / 2);
        pieces.feed(part, step);
        CHECK(whole.demuxer.at_boundary() == pieces.demuxer.at_boundary());
        for (PlayedPs* played : {&whole, &pieces}) {
            if (how % 16 == 1) played->demuxer.on_gap();
            if (how % 16 == 2 && played->demuxer.at_boundary()) played->demuxer.end_unit();
            if (how % 16 == 4) played->reader.finish();
        }
    }
    for (PlayedPs* played : {&whole, &pieces}) {
        played->demuxer.finish();
        played->reader.finish();
        CHECK(played->demuxer.memory() == 0);
    }
    CHECK(whole.frames == pieces.frames && whole.hash == pieces.hash && whole.programs == pieces.programs);
    CHECK(whole.demuxer.counters().skipped_bytes == pieces.demuxer.counters().skipped_bytes);
    return 0;
}
