#include "service/hls/playlists/master.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace service::hls {
namespace {

media::Track track(uint8_t index, std::string language, std::string label) {
    media::Track out;
    out.kind = media::Kind::kAudio;
    out.index = index;
    out.codec = media::Codec::kAac;
    out.language = std::move(language);
    out.label = std::move(label);
    return out;
}

TEST(Master, TheBandwidthIsRoundedUp) {
    EXPECT_EQ(announced_bandwidth(999, 6), 999u);
    EXPECT_EQ(announced_bandwidth(1'001, 6), 1'010u);
    EXPECT_EQ(announced_bandwidth(2'345'678, 60), 2'350'000u);
    EXPECT_EQ(announced_bandwidth(800'000, 5), 1'000'000u) << "of few segments it is not known well";
}

TEST(Master, UrisAreRelativeToThePlaylistOrItsDirectory) {
    const m3u8::MultivariantPlaylist playlist{
        false, {{"live/a_1/index.m3u8", 9, 0, 0, 0, "", 0, {{.uri = "live/a_1/index~audio2.m3u8", .name = "b"}}}}};
    const auto last = [](const std::string& text) { return text.substr(text.rfind('\n', text.size() - 2) + 1); };
    EXPECT_EQ(last(write_multivariant(playlist, "live/a/index.m3u8", "", "")), "../a_1/index.m3u8\n");
    const std::string text = write_multivariant(playlist, "live/a.m3u8", "/m t/live/", "?x=1");
    EXPECT_EQ(last(text), "/m%20t/live/a_1/index.m3u8?x=1\n");
    EXPECT_NE(text.find("URI=\"/m%20t/live/a_1/index~audio2.m3u8?x=1\""), std::string::npos) << text;
}

TEST(Master, TracksHaveNamesThatDiffer) {
    const media::Track english = track(0, "eng", ""), comment = track(1, "eng", "Com\"ment\n"),
                       same = track(2, "", "eng"), again = track(3, "ger", "eng"), broken = track(4, "ger", "\xff\xc3");
    const auto audio = describe_audio({{0, &english, ""},
                                       {1, &comment, "b"},
                                       {2, &same, "c"},
                                       {3, &again, "d"},
                                       {4, &broken, "e"},
                                       {5, nullptr, "f"}});
    std::vector<std::string> names, languages;
    for (const auto& one : audio) names.push_back(one.name), languages.push_back(one.language);
    EXPECT_EQ(names, (std::vector<std::string>{"eng", "Com'ment ", "eng (3)", "eng (4)", "??", "Audio 6"}));
    EXPECT_EQ(languages, (std::vector<std::string>{"en", "en", "", "de", "de", ""}));
    std::vector<bool> defaults, chosen;
    for (const auto& one : audio) defaults.push_back(one.is_default), chosen.push_back(one.autoselect);
    EXPECT_EQ(defaults, (std::vector<bool>{true, false, false, false, false, false}));
    EXPECT_EQ(chosen, (std::vector<bool>{true, false, false, true, false, false})) << "by a language that only it has";
    EXPECT_EQ(audio[1].uri, "b");
}

TEST(Master, ChannelsAreThoseOfTheSequenceHeader) {
    media::Track stereo = track(0, "", "");
    stereo.header = media::Frame{.kind = media::Kind::kAudio,
                                 .codec = media::Codec::kAac,
                                 .sequence_header = true,
                                 .payload = base::Slice::copy(base::hex("1210"))};
    const auto audio = describe_audio({{0, &stereo, ""}, {1, nullptr, "b"}});
    EXPECT_EQ(audio[0].channels, 2);
    EXPECT_EQ(audio[1].channels, 0);
}

}  // namespace
}  // namespace service::hls
