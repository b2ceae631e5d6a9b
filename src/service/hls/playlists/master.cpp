#include "service/hls/playlists/master.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "media/codec_parameter.h"
#include "media/language.h"
#include "media/track.h"

namespace service::hls {

namespace {

constexpr size_t kMaxNameBytes = 128;

// Bytes of the UTF-8 sequence at the front; 0: it is none.
size_t sequence_length(std::string_view text) {
    const auto lead = static_cast<uint8_t>(text[0]);
    const size_t length = lead < 0x80                   ? 1
                          : lead >= 0xc2 && lead < 0xe0 ? 2
                          : lead >= 0xe0 && lead < 0xf0 ? 3
                          : lead >= 0xf0 && lead < 0xf5 ? 4
                                                        : 0;
    if (length > text.size()) return 0;
    for (size_t i = 1; i < length; ++i)
        if ((static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) return 0;
    return length;
}

// A text of a publisher as a name: not too long, and UTF-8, as the whole playlist has to be.
std::string cleaned(std::string_view text) {
    std::string out;
    while (!text.empty() && out.size() < kMaxNameBytes) {
        const size_t length = sequence_length(text);
        out += length > 0 ? text.substr(0, length) : "?";
        text.remove_prefix(std::max<size_t>(1, length));
    }
    return m3u8::quotable(out);
}

int channels_of(const media::Track& track) {
    if (!track.header) return 0;
    auto info = media::audio_info(*track.header);
    return info ? info->channels : 0;
}

}  // namespace

std::string codecs_of(const std::vector<const media::Track*>& tracks) {
    std::string all;
    for (const media::Track* track : tracks) {
        const std::string one = track ? media::codec_parameter(*track) : std::string();
        if (one.empty()) return {};
        if (("," + all + ",").find("," + one + ",") == std::string::npos) all += (all.empty() ? "" : ",") + one;
    }
    return all;
}

std::vector<m3u8::AudioRendition> describe_audio(const std::vector<AudioMember>& members) {
    std::vector<m3u8::AudioRendition> out;
    for (const AudioMember& member : members) {
        m3u8::AudioRendition audio;
        audio.uri = member.playlist;
        audio.is_default = out.empty();
        if (member.track) {
            audio.language = media::language_tag(member.track->language);
            audio.channels = channels_of(*member.track);
            audio.name = cleaned(member.track->label.empty() ? member.track->language : member.track->label);
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
