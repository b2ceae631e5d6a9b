#include "service/hls/playlists/master.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "media/language.h"
#include "media/track.h"
#include "protocol/http/url.h"
#include "service/hls/playlists/segment_paths.h"

namespace service::hls {

namespace {

constexpr size_t kMaxNameBytes = 128;

int channels_of(const media::Track& track) {
    if (!track.header) return 0;
    auto info = media::audio_info(*track.header);
    return info ? info->channels : 0;
}

}  // namespace

std::vector<m3u8::AudioRendition> describe_audio(const std::vector<AudioMember>& members) {
    std::vector<m3u8::AudioRendition> out;
    for (const AudioMember& member : members) {
        m3u8::AudioRendition audio;
        audio.uri = member.playlist;
        audio.is_default = out.empty();
        if (member.track) {
            audio.language = media::language_tag(member.track->language);
            audio.channels = channels_of(*member.track);
            audio.name = m3u8::quotable(
                base::utf8(member.track->label.empty() ? member.track->language : member.track->label, kMaxNameBytes));
        }
        const auto same_language = [&](const auto& other) { return other.language == audio.language; };
        audio.autoselect = !audio.language.empty() && std::ranges::none_of(out, same_language);
        if (audio.name.empty()) audio.name = fmt::format("Audio {}", member.index + 1);
        const std::string name = audio.name;
        const auto taken = [&](const auto& other) { return other.name == audio.name; };
        for (int number = member.index + 1; std::ranges::any_of(out, taken); ++number)
            audio.name = fmt::format("{} ({})", name, number);
        out.push_back(std::move(audio));
    }
    return out;
}

uint64_t announced_bandwidth(uint64_t highest, size_t segments) {
    constexpr size_t kEnough = 6;  // segments
    if (segments < kEnough) highest += highest / 4;
    uint64_t unit = 1;
    while (highest / unit >= 1'000) unit *= 10;
    return (highest + unit - 1) / unit * unit;
}

std::string write_multivariant(m3u8::MultivariantPlaylist playlist, std::string_view path, std::string_view directory,
                               std::string_view query) {
    const std::string before = http::percent_encode(directory);
    const auto complete = [&](std::string& uri) { uri = (before + http::relative_reference(path, uri)).append(query); };
    for (m3u8::Variant& variant : playlist.variants) {
        complete(variant.uri);
        for (m3u8::AudioRendition& audio : variant.audio)
            if (!audio.uri.empty()) complete(audio.uri);
    }
    return m3u8::write(playlist);
}

}  // namespace service::hls
