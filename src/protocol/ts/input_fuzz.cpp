// Transport streams whose fields are chosen by the input: tables with right checksums around any content, PES packets
// with any header, elementary streams of each codec with bytes changed, packets repeated, lost, junk between. Fed at
// once and in pieces: the frames must be the same, and the memory bounded.
#include <cstddef>
#include <cstdint>

#include "protocol/ts/cells_testing.h"
#include "protocol/ts/demuxer.h"
#include "protocol/ts/frame_reader.h"
#include "protocol/ts/program.h"

namespace {

using ts::testing::CellBytes;

constexpr size_t kLimit = 4096, kMaxParts = 64;
constexpr uint16_t kPids[] = {0x100, 0x101, 0x102, 0x1000, 0x1001, 0x1ffe};
constexpr uint8_t kTypes[] = {ts::kH264, ts::kHevc, ts::kAdtsAac,     ts::kMpeg1Audio,
                              ts::kAc3,  ts::kEac3, ts::kPrivateData, 0x86};

struct Played final : ts::DemuxerSink {
    uint64_t frames = 0, hash = 0, programs = 0;
    ts::FrameReader reader{[this](media::Frame frame) {
        ++frames;
        CHECK(frame.track < media::kMaxTracks);
        CHECK(frame.payload.size() <= 32 * kLimit);
        CHECK(media::distance(frame.cts, media::Time(0)) <= media::Time(std::chrono::seconds(11)));
        hash = hash * 31 + frame.payload.size() + static_cast<uint64_t>(frame.dts.count());
    }};
    ts::Demuxer demuxer{*this, kLimit};
    void on_pes(ts::PesPacket packet) override { reader.take(packet); }
    void on_program(const ts::ProgramMap&) override { ++programs; }
    void feed(std::span<const uint8_t> bytes, size_t step) {
        for (size_t at = 0; at < bytes.size(); at += step)
            demuxer.feed(bytes.subspan(at, std::min(step, bytes.size() - at)));
        CHECK(demuxer.memory() + reader.memory() <= 8 * kLimit + 16 * 20'000);
    }
};

// The input as choices; behind its end they are 0.
class Choices {
  public:
    explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}
    bool empty() const { return bytes_.empty(); }
    uint8_t u8() {
        if (bytes_.empty()) return 0;
        const uint8_t value = bytes_.front();
        bytes_ = bytes_.subspan(1);
        return value;
    }
    CellBytes some(size_t most) {
        const size_t count = std::min<size_t>({u8(), most, bytes_.size()});
        CellBytes out(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(count));
        bytes_ = bytes_.subspan(count);
        return out;
    }
    uint16_t pid() { return kPids[u8() % std::size(kPids)]; }

  private:
    std::span<const uint8_t> bytes_;
};

// A beginning of each codec, for the mutations to be near what is valid.
CellBytes elementary(Choices& from) {
    static const CellBytes kBegins[] = {
        {0, 0, 0, 1,    0x67, 0x42, 0xc0, 0x1e, 0xd9, 0x00, 0xa0, 0x47, 0xfe, 0xc8,
         0, 0, 1, 0x68, 0xcb, 0x83, 0xcb, 0x20, 0,    0,    1,    0x65, 0x88},
        {0, 0, 1, 0x41, 0x9a, 0x24},
        {0xff, 0xf1, 0x4c, 0x80, 0x02, 0x1f, 0xfc, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xff, 0xf1, 0x4c, 0x80, 0x02, 0x1f, 0xfc},
        {0xff, 0xfd, 0x14, 0x04},
        {0x0b, 0x77, 0x00, 0x1f, 0x3f, 0x80},
        {0x7f, 0xe0, 0x03, 0x7c, 1, 2},
        {0x12, 0x00, 0x0a, 0x0b, 0x02, 0, 0, 0x05, 0x61, 0xe7, 0xf6, 0x60, 0x17, 0xc0, 0x02, 0x32, 0x02, 0x10, 1},
        {},
    };
    CellBytes out = kBegins[from.u8() % std::size(kBegins)];
    const CellBytes more = from.some(255);
    out.insert(out.end(), more.begin(), more.end());
    out.resize(out.size() + (from.u8() % 4) * size_t{300}, 0xff);
    if (!out.empty()) out[from.u8() % out.size()] ^= from.u8();
    return out;
}

CellBytes pes_of(Choices& from) {
    const uint8_t form = from.u8();
    const uint64_t time = uint64_t{from.u8()} << 25 | uint64_t{from.u8()} << 10;
    const auto pts = form & 1 ? std::optional(time) : std::nullopt;
    const auto dts = (form & 3) == 3 ? std::optional(time - from.u8()) : std::nullopt;
    CellBytes out = ts::testing::pes(0xe0, pts, elementary(from), form & 4, dts);
    if (form & 8) out[from.u8() % 14 % out.size()] = from.u8();
    return out;
}

CellBytes map_of(Choices& from) {
    CellBytes content{0xe1, 0x00, 0xf0, 0};
    for (size_t n = from.u8() % 6; n > 0; --n) {
        const uint16_t pid = from.pid();
        const uint8_t type = kTypes[from.u8() % std::size(kTypes)];
        const CellBytes descriptors = from.some(12);
        content.insert(content.end(), {type, static_cast<uint8_t>(0xe0 | pid >> 8), static_cast<uint8_t>(pid), 0xf0,
                                       static_cast<uint8_t>(descriptors.size())});
        content.insert(content.end(), descriptors.begin(), descriptors.end());
    }
    if (from.u8() % 8 == 0) content[from.u8() % content.size()] = from.u8();
    const uint8_t number = from.u8() % 3;
    return ts::testing::table(0x1000 + from.u8() % 2, from.u8() & 15, 2, number, from.u8() & 31, content);
}

CellBytes part_of(Choices& from, uint8_t (&counters)[std::size(kPids)]) {
    switch (from.u8() % 6) {
        case 0:
            return ts::testing::association(from.u8() & 15, {{from.u8() % 3, 0x1000}, {2, 0x1000 + from.u8() % 2}});
        case 1:
            return map_of(from);
        case 2:
        case 3: {
            const size_t index = from.u8() % std::size(kPids);
            const uint8_t flags = from.u8();
            const CellBytes out = ts::testing::cells(kPids[index], counters[index], pes_of(from), flags & 0xd0);
            counters[index] = static_cast<uint8_t>((counters[index] + out.size() / ts::kPacketSize) & 15);
            return out;
        }
        case 4: {
            CellBytes out = ts::testing::cell(from.pid(), from.u8() & 15, from.u8() & 1, from.some(184));
            out[from.u8() % 12] ^= from.u8();
            return out;
        }
        default:
            return from.some(255);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    Choices choices({data + 1, size - 1});
    const size_t step = data[0] + 1u;
    Played whole, pieces;
    uint8_t counters[std::size(kPids)] = {};
    CellBytes last;
    for (size_t n = 0; n < kMaxParts && !choices.empty(); ++n) {
        const uint8_t how = choices.u8();
        if (how % 16 == 1) {
            whole.demuxer.on_gap();
            pieces.demuxer.on_gap();
        }
        const CellBytes part = how % 16 == 2 ? last : part_of(choices, counters);
        whole.feed(part, SIZE_MAX / 2);
        pieces.feed(part, step);
        last = part;
    }
    for (Played* played : {&whole, &pieces}) {
        played->demuxer.finish();
        played->reader.finish();
        CHECK(played->demuxer.memory() == 0);
    }
    CHECK(whole.frames == pieces.frames && whole.hash == pieces.hash && whole.programs == pieces.programs);
    CHECK(whole.demuxer.counters().skipped_bytes == pieces.demuxer.counters().skipped_bytes);
    return 0;
}
