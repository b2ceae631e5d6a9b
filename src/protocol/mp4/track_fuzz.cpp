// A decoder configuration or first frame, of the codec selected by the first byte, and frames: if they make a track,
// the init segment and the fragments must be readable again.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "protocol/mp4/demuxer.h"
#include "protocol/mp4/fragment.h"

namespace {

using media::Codec;

constexpr Codec kCodecs[] = {Codec::kH264, Codec::kHevc, Codec::kAv1,  Codec::kVp9, Codec::kVp8, Codec::kAac,
                             Codec::kMp3,  Codec::kOpus, Codec::kFlac, Codec::kAc3, Codec::kEac3};

media::Frame frame_with(Codec codec, std::span<const uint8_t> payload, bool header) {
    media::Frame frame;
    frame.kind = media::codec_info(codec).kind;
    frame.codec = codec;
    frame.sequence_header = header;
    frame.payload = base::Slice::copy(payload);
    return frame;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    Codec codec = kCodecs[data[0] % std::size(kCodecs)];
    std::span<const uint8_t> bytes(data + 1, size - 1);
    // Opus may come with or without a header.
    bool header = media::codec_info(codec).has_sequence_header || (codec == Codec::kOpus && data[0] & 0x80);
    mp4::FragmentBuilder builder;
    media::Frame first = frame_with(codec, bytes, header);
    auto made = builder.set_header(first);
    if (!made) {
        CHECK(!made.error().text().empty());
        return 0;
    }
    CHECK(!builder.set_header(first).value());
    auto file = builder.init_segment();
    size_t bytes_in = 0;
    for (size_t i = 0; i < 4; ++i) {
        auto part = bytes.first(std::max<size_t>(1, bytes.size() / (i + 1)));
        media::Frame frame = frame_with(codec, part, false);
        frame.dts = media::from_ms(static_cast<int64_t>(i) * bytes[0]);
        CHECK(builder.add(frame));
    }
    bytes_in = builder.bytes();
    for (auto piece : builder.cut({.seal = true}).pieces) file.insert(file.end(), piece.begin(), piece.end());
    auto read = mp4::demux(file);
    CHECK(read && read->samples.size() == 1 && read->samples[0].size() == 4);
    const mp4::Track& track = read->movie.tracks[0].track;
    // An AC-3 frame itself shows which of the two codecs it is.
    CHECK(track.codec == codec || codec == Codec::kAc3 || codec == Codec::kEac3);
    size_t bytes_out = 0;
    for (const mp4::Sample& sample : read->samples[0]) bytes_out += sample.size;
    CHECK(bytes_in == bytes_out);
    CHECK(mp4::header_of(track, track.entries[0]));
    return 0;
}
