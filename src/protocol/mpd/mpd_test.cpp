#include "protocol/mpd/mpd.h"

#include <gtest/gtest.h>

namespace mpd {
namespace {

Track video() {
    Representation one;
    one.id = "video";
    one.codecs = "avc1.64001f";
    one.bandwidth = 2'000'000;
    one.width = 1280;
    one.height = 720;
    one.frame_rate = 25;
    one.timescale = 90'000;
    one.offset = 900;
    one.initialization = "cam/video-init.mp4";
    one.media = "cam/$RepresentationID$-$Number$.m4s";
    one.start_number = 7;
    one.segments = {{900, 180'000}, {180'900, 180'000}, {360'900, 183'600}};
    return {.video = true, .representations = {one}};
}

Track audio() {
    Representation one;
    one.id = "audio";
    one.codecs = "mp4a.40.2";
    one.bandwidth = 128'000;
    one.sample_rate = 48'000;
    one.channels = 2;
    one.timescale = 48'000;
    one.initialization = "cam/audio-init.mp4";
    one.media = "cam/$RepresentationID$-$Number$.m4s";
    one.segments = {{0, 96'256}};
    return {.language = "de", .label = "Ton & \"mehr\"", .representations = {one}};
}

Manifest live() {
    Manifest manifest;
    manifest.publish_ms = 1'795'871'109'042;
    manifest.update_ms = 2'000;
    manifest.depth_ms = 10'000;
    manifest.delay_ms = 6'000;
    manifest.buffer_ms = 2'000;
    manifest.time_url = "cam/time";
    manifest.periods = {{"p1", 1'795'871'100'000'500, {video(), audio()}}};
    return manifest;
}

Representation& first_of(Manifest& manifest) { return manifest.periods[0].tracks[0].representations[0]; }

std::string text_of(const Manifest& manifest) { return write(manifest).text; }

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(Mpd, AManifestIsWrittenInTheSchemasOrder) {
    EXPECT_EQ(text_of(live()), R"(<?xml version="1.0" encoding="UTF-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"
    profiles="urn:mpeg:dash:profile:isoff-live:2011"
    type="dynamic" availabilityStartTime="1970-01-01T00:00:00Z" publishTime="2026-11-28T13:05:09.042Z"
    minimumUpdatePeriod="PT2.000S" timeShiftBufferDepth="PT10.000S" suggestedPresentationDelay="PT6.000S" minBufferTime="PT2.000S">
  <Period id="p1" start="PT1795871100.000500S">
    <AdaptationSet id="0" contentType="video" mimeType="video/mp4" segmentAlignment="true" startWithSAP="1">
      <Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/>
      <Representation id="video" bandwidth="2000000" codecs="avc1.64001f" width="1280" height="720" frameRate="25">
        <SegmentTemplate timescale="90000" presentationTimeOffset="900" startNumber="7"
            initialization="cam/video-init.mp4" media="cam/$RepresentationID$-$Number$.m4s">
          <SegmentTimeline>
            <S t="900" d="180000" r="1"/>
            <S d="183600"/>
          </SegmentTimeline>
        </SegmentTemplate>
      </Representation>
    </AdaptationSet>
    <AdaptationSet id="1" contentType="audio" mimeType="audio/mp4" segmentAlignment="true" startWithSAP="1" lang="de">
      <Label>Ton &amp; &quot;mehr&quot;</Label>
      <Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/>
      <Representation id="audio" bandwidth="128000" codecs="mp4a.40.2" audioSamplingRate="48000">
        <AudioChannelConfiguration schemeIdUri="urn:mpeg:dash:23003:3:audio_channel_configuration:2011" value="2"/>
        <SegmentTemplate timescale="48000" presentationTimeOffset="0" startNumber="0"
            initialization="cam/audio-init.mp4" media="cam/$RepresentationID$-$Number$.m4s">
          <SegmentTimeline>
            <S t="0" d="96256"/>
          </SegmentTimeline>
        </SegmentTemplate>
      </Representation>
    </AdaptationSet>
  </Period>
  <UTCTiming schemeIdUri="urn:mpeg:dash:utc:http-xsdate:2014" value="cam/time"/>
</MPD>
)");
}

TEST(Mpd, LowLatencySaysHowEarlyAndWhen) {
    Manifest manifest = live();
    manifest.low_latency = {2'000'000, 360'000, 1'500};
    const std::string text = text_of(manifest);
    EXPECT_TRUE(has(text, "isoff-live:2011,urn:mpeg:dash:profile:cmaf:2019\""));
    EXPECT_TRUE(has(text, " availabilityTimeOffset=\"1.640\" availabilityTimeComplete=\"false\""));
    EXPECT_TRUE(has(text, R"(
  <ServiceDescription id="0">
    <Latency referenceId="0" target="1500"/>
    <PlaybackRate min="0.96" max="1.04"/>
  </ServiceDescription>
  <Period )"))
        << text;
    EXPECT_TRUE(has(text, R"(
      <ProducerReferenceTime id="0" type="encoder" wallClockTime="2026-11-28T13:05:00.000Z" presentationTime="900"/>
      <Role )"))
        << text;
}

TEST(Mpd, AnEndedPresentationIsNotFetchedAgain) {
    Manifest manifest = live();
    manifest.update_ms = 0;
    manifest.end_ms = 1'795'871'106'000;
    const std::string text = text_of(manifest);
    EXPECT_FALSE(has(text, "minimumUpdatePeriod"));
    EXPECT_TRUE(has(text, "mediaPresentationDuration=\"PT1795871106.000S\""));
}

TEST(Mpd, TimesAreGivenWhereSomethingIsMissing) {
    Manifest manifest = live();
    first_of(manifest).segments = {{0, 10}, {10, 10}, {20, 10}, {40, 10}, {50, 20}, {70, 20}};
    EXPECT_TRUE(
        has(text_of(manifest),
            "<S t=\"0\" d=\"10\" r=\"2\"/>\n            <S t=\"40\" d=\"10\"/>\n            <S d=\"20\" r=\"1\"/>"))
        << text_of(manifest);
}

TEST(Mpd, AViewersManifestIsThatOfAllWithItsIdPutIn) {
    const Text text = write(live());
    EXPECT_EQ(text.personal("", ""), text.text);
    const std::string own = text.personal("cam.mpd?a=1&b=2", "?id=7&x");
    EXPECT_TRUE(has(own, ">\n  <Location>cam.mpd?a=1&amp;b=2</Location>\n  <Period ")) << own;
    for (const char* url : {"initialization=\"cam/video-init.mp4", "initialization=\"cam/audio-init.mp4",
                            "media=\"cam/$RepresentationID$-$Number$.m4s"})
        EXPECT_TRUE(has(own, std::string(url) + "?id=7&amp;x\"")) << url << own;
    EXPECT_TRUE(has(own, "value=\"cam/time\"/>")) << "the clock is nobody's: " << own;
}

TEST(Mpd, ATrackMayHaveSeveralQualities) {
    Manifest manifest = live();
    Track& track = manifest.periods[0].tracks[0];
    track.representations.push_back(track.representations[0]);
    track.representations[1].id = "less";
    const std::string text = text_of(manifest);
    const size_t first = text.find("<Representation id=\"video\""), second = text.find("<Representation id=\"less\"");
    EXPECT_LT(first, second);
    EXPECT_LT(second, text.find("</AdaptationSet>"));
}

TEST(Mpd, FrameRatesAreWholeNumbersOrFractions) {
    const std::pair<double, const char*> cases[] = {{25, "25"},     {29.97, "30000/1001"},  {59.94, "60000/1001"},
                                                    {30.004, "30"}, {23.976, "24000/1001"}, {12.5, "12500/1000"}};
    for (const auto& [rate, text] : cases) {
        Manifest manifest = live();
        first_of(manifest).frame_rate = rate;
        EXPECT_TRUE(has(text_of(manifest), std::string(" frameRate=\"") + text + "\"")) << rate;
    }
}

TEST(Mpd, WhatIsNotKnownIsNotSaid) {
    Manifest manifest = live();
    Representation& one = first_of(manifest);
    one.codecs.clear();
    one.width = 0;
    one.frame_rate = 0;
    EXPECT_TRUE(has(text_of(manifest), "<Representation id=\"video\" bandwidth=\"2000000\">")) << text_of(manifest);
}

TEST(Mpd, TextsHaveNothingThatXmlCannotHave) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c'"},
        {"\x01\n\t\x7f", "????"},
        {"\xc3\xbc", "\xc3\xbc"},
        {"\xf0\x9f\x93\xb7", "\xf0\x9f\x93\xb7"},
        {"\xff", "?"},
        {"\xc3", "?"},
        {"\xc0\xaf", "??"},
        {"\xed\xa0\x80", "???"},       // a surrogate
        {"\xef\xbf\xbf", "???"},       // no character
        {"\xe0\x80\xbc", "???"},       // '<', longer than it need be
        {"\xf4\x90\x80\x80", "????"},  // beyond Unicode
        {"\xc2\x85", "??"},            // a control character
    };
    for (const auto& [text, escaped] : cases) EXPECT_EQ(escape(text), escaped);
}

}  // namespace
}  // namespace mpd
