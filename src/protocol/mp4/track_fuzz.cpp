// A decoder configuration or first frame, of the codec selected by the first byte, and frames, on as many tracks as the
// last byte says, named by what came: if they make tracks, the init segment and the fragments must be readable again.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "protocol/mp4/fragment.h"
#include "protocol/mp4/testing/demuxer.h"

namespace {

using media::Codec;

constexpr Codec kCodecs[] = {Codec::kH264, Codec::kHevc, Codec::kAv1,  Codec::kVp9, Codec::kVp8, Codec::kAac,
                             Codec::kMp3,  Codec::kOpus, Codec::kFlac, Codec::kAc3, Codec::kEac3};

media::Frame frame_with(Codec codec, std::span<const uint8_t> payload, bool header, uint8_t track) {
    media::Frame frame;
    frame.track = track;
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
    const size_t tracks = 1 + bytes.back() % media::kMaxTracks;
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (size_t k = tracks; k-- > 0;) {
        media::Frame first = frame_with(codec, bytes, header, static_cast<uint8_t>(k));
        auto made = builder.set_header(first);
        if (!made) {
            CHECK(!made.error().text().empty());
            return 0;
        }
        CHECK(!builder.set_header(first).value());
        if (k) builder.set_names(first.kind, first.track, text.substr(0, k), text);
    }
    auto file = builder.init_segment();
    for (size_t i = 0; i < 4 * tracks; ++i) {
        auto part = bytes.first(std::max<size_t>(1, bytes.size() / (i + 1)));
        media::Frame frame = frame_with(codec, part, false, static_cast<uint8_t>(i % tracks));
        frame.dts = media::from_ms(static_cast<int64_t>(i) * bytes[0]);
        CHECK(builder.add(frame));
    }
    size_t bytes_in = builder.bytes(), bytes_out = 0;
    for (auto piece : builder.cut({.seal = true}).pieces) file.insert(file.end(), piece.begin(), piece.end());
    auto read = mp4::demux(file);
    CHECK(read && read->samples.size() == tracks);
    for (size_t k = 0; k < tracks; ++k) {
        const mp4::Track& track = read->movie.tracks[k].track;
        CHECK(track.index == k && track.id == tracks - k && read->samples[k].size() == 4);
        // An AC-3 frame itself shows which of the two codecs it is.
        CHECK(track.codec == codec || codec == Codec::kAc3 || codec == Codec::kEac3);
        auto written = std::ranges::find(builder.tracks(), track.id, &mp4::Track::id);
        CHECK(track.language == written->language && track.label == written->label);
        CHECK(mp4::header_of(track, track.entries[0]));
        for (const mp4::Sample& sample : read->samples[k]) bytes_out += sample.size;
    }
    CHECK(bytes_in == bytes_out);
    return 0;
}
