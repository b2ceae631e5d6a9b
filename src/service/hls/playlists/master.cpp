#include "service/hls/playlists/master.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "media/language.h"
#include "media/track.h"

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

}  // namespace service::hls
