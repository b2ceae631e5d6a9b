#include "protocol/mp4/track.h"

#include <fmt/format.h>

#include <algorithm>

#include "media/audio_headers.h"
#include "protocol/mp4/sample_entry.h"

namespace mp4 {

using base::Code;
using base::fail;
using base::Result;
using media::Frame;
using media::Kind;

namespace {

struct Entry {
    std::vector<uint8_t> box;
    uint32_t timescale = kVideoTimescale;
    uint32_t frame_ticks = 0;
    int width = 0;
    int height = 0;
};

Result<Entry> make_entry(const Frame& header, const Frame* keyframe, VideoSize otherwise = {}) {
    if (header.kind == Kind::kVideo) {
        VideoEntry video = TRY(video_entry(header, keyframe, otherwise));
        return Entry{std::move(video.box), kVideoTimescale, 0, video.size.width, video.size.height};
    }
    AudioEntry audio = TRY(audio_entry(header));
    if (audio.sample_rate <= 0) return fail(Code::kProtocol, "audio without a sample rate");
    return Entry{std::move(audio.box), static_cast<uint32_t>(audio.sample_rate), audio.frame_samples, 0, 0};
}

}  // namespace

Result<Track> make_track(uint32_t id, const Frame& header, const Frame* keyframe) {
    CHECK(id != 0 && header.kind != Kind::kData);
    Entry entry = TRY(make_entry(header, keyframe), "MP4 track");
    Track track;
    track.id = id;
    track.kind = header.kind;
    track.index = header.track;
    track.codec = header.codec;
    track.timescale = entry.timescale;
    track.frame_ticks = entry.frame_ticks;
    track.width = entry.width;
    track.height = entry.height;
    track.entries.push_back(std::move(entry.box));
    return track;
}

Result<bool> extend_track(Track& track, const Frame& header, const Frame* keyframe) {
    auto name = [](media::Codec codec) { return media::codec_info(codec).name; };
    if (header.codec != track.codec) {
        return fail(Code::kRefused,
                    fmt::format("a track of {} cannot go on with {}", name(track.codec), name(header.codec)));
    }
    Entry entry = TRY(make_entry(header, keyframe, {track.width, track.height}), "MP4 track");
    if (entry.timescale != track.timescale || entry.frame_ticks != track.frame_ticks) {
        return fail(Code::kRefused, fmt::format("a track of {} at {} Hz cannot continue at {} Hz", name(track.codec),
                                                track.timescale, entry.timescale));
    }
    auto known = std::ranges::find(track.entries, entry.box);
    auto index = static_cast<uint32_t>(known - track.entries.begin()) + 1;
    if (index == track.entry) return false;
    if (index > kMaxEntries) {
        return fail(Code::kLimit,
                    fmt::format("a track of {} with more than {} configurations", name(track.codec), kMaxEntries));
    }
    track.entry = index;
    if (known != track.entries.end()) return true;
    track.width = std::max(track.width, entry.width);
    track.height = std::max(track.height, entry.height);
    track.entries.push_back(std::move(entry.box));
    return true;
}

std::string language_tag(std::string_view text) {
    auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    auto allowed = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; };
    if (text.empty() || text.size() > kMaxLanguage || text == "und") return {};
    return letter(text[0]) && std::ranges::all_of(text, allowed) ? std::string(text) : std::string();
}

std::string track_label(std::string_view text) {
    size_t size = std::min(text.size(), kMaxLabel);
    // Not within a character: a byte 10xxxxxx continues one.
    while (size > 0 && size < text.size() && (static_cast<uint8_t>(text[size]) & 0xc0) == 0x80) --size;
    std::string label(text.substr(0, size));
    std::erase_if(label, [](char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7f; });
    return label;
}

uint32_t frame_ticks(const Track& track, std::span<const uint8_t> payload) {
    if (track.kind != Kind::kAudio) return 0;
    if (track.codec == media::Codec::kAac) return track.frame_ticks;
    uint32_t ticks = media::audio_frame_samples(track.codec, payload);
    return ticks ? ticks : track.frame_ticks;
}

}  // namespace mp4
