#include "protocol/mpd/mpd.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/text.h"
#include "protocol/http/timestamp.h"

namespace mpd {

namespace {

// What a fast connection hides of a clock that is not exact, and of a keyframe that comes late.
constexpr double kMinRate = 0.96, kMaxRate = 1.04;

// An unsigned integer, or two (5.3.7.2: FrameRateType). Rates like 29.97 are thousands over 1001.
std::string frame_rate(double rate) {
    const double whole = std::round(rate), ntsc = std::round(rate * 1.001);
    if (std::abs(rate - whole) < 0.01) return fmt::format("{}", static_cast<int64_t>(whole));
    if (std::abs(rate - ntsc / 1.001) < 0.01) return fmt::format("{}/1001", static_cast<int64_t>(ntsc) * 1'000);
    return fmt::format("{}/1000", std::llround(rate * 1'000));
}

class Writer {
  public:
    explicit Writer(const Manifest& manifest) : manifest_(manifest) {}

    std::string write() {
        head();
        if (!manifest_.location.empty()) add("  <Location>{}</Location>\n", escape(manifest_.location));
        if (const auto& low = manifest_.low_latency) {
            add("  <ServiceDescription id=\"0\">\n    <Latency referenceId=\"0\" target=\"{}\"/>\n", low->target_ms);
            add("    <PlaybackRate min=\"{}\" max=\"{}\"/>\n  </ServiceDescription>\n", kMinRate, kMaxRate);
        }
        for (const Period& one : manifest_.periods) period(one);
        if (!manifest_.time_url.empty())
            add("  <UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:http-xsdate:2014\" value=\"{}\"/>\n",
                escape(manifest_.time_url));
        add("</MPD>\n");
        return std::move(out_);
    }

  private:
    void head() {
        add("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\"\n"
            "    profiles=\"urn:mpeg:dash:profile:isoff-live:2011{}\"\n    type=\"dynamic\" "
            "availabilityStartTime=\"1970-01-01T00:00:00Z\" publishTime=\"{}\"\n   ",
            manifest_.low_latency ? ",urn:mpeg:dash:profile:cmaf:2019" : "",
            http::format_timestamp(manifest_.publish_ms));
        if (manifest_.update_ms > 0)
            duration("minimumUpdatePeriod", manifest_.update_ms);
        else
            duration("mediaPresentationDuration", manifest_.end_ms);
        duration("timeShiftBufferDepth", manifest_.depth_ms);
        duration("suggestedPresentationDelay", manifest_.delay_ms);
        duration("minBufferTime", manifest_.buffer_ms);
        add(">\n");
    }

    void period(const Period& period) {
        add("  <Period id=\"{}\" start=\"PT{}.{:06}S\">\n", escape(period.id), period.start_us / 1'000'000,
            period.start_us % 1'000'000);
        for (const Track& one : period.tracks) track(period, one);
        add("  </Period>\n");
    }

    void track(const Period& period, const Track& track) {
        add("    <AdaptationSet id=\"{}\" contentType=\"{}\" mimeType=\"{}/mp4\" segmentAlignment=\"true\" "
            "startWithSAP=\"1\"",
            number_of(period, track), kind_of(track), kind_of(track));
        if (!track.language.empty()) add(" lang=\"{}\"", escape(track.language));
        add(">\n");
        if (!track.label.empty()) add("      <Label>{}</Label>\n", escape(track.label));
        if (manifest_.low_latency) reference_time(period, track);
        add("      <Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"{}\"/>\n", track.main ? "main" : "alternate");
        segments(track);
        representation(track);
        add("    </AdaptationSet>\n");
    }

    void segments(const Track& track) {
        add("      <SegmentTemplate timescale=\"{}\" presentationTimeOffset=\"{}\"", track.timescale, track.offset);
        if (const auto& low = manifest_.low_latency)
            add(" availabilityTimeOffset=\"{:.3f}\" availabilityTimeComplete=\"false\"",
                static_cast<double>(low->segment_us - low->part_us) / 1e6);
        add(" startNumber=\"{}\"\n          initialization=\"{}\" media=\"{}\">\n        <SegmentTimeline>\n",
            track.start_number, escape(track.initialization), escape(track.media));
        for (size_t i = 0; i < track.segments.size();) i += run(track, i);
        add("        </SegmentTimeline>\n      </SegmentTemplate>\n");
    }

    // Segments of the same duration, one after the other. Returns how many.
    size_t run(const Track& track, size_t begin) {
        const Segment& first = track.segments[begin];
        const bool follows = begin > 0 && end_of(track.segments[begin - 1]) == first.time;
        size_t end = begin + 1;
        while (end < track.segments.size() && track.segments[end].duration == first.duration &&
               track.segments[end].time == end_of(track.segments[end - 1]))
            ++end;
        add("          <S");
        if (!follows) add(" t=\"{}\"", first.time);
        add(" d=\"{}\"", first.duration);
        if (end - begin > 1) add(" r=\"{}\"", end - begin - 1);
        add("/>\n");
        return end - begin;
    }

    void representation(const Track& track) {
        add("      <Representation id=\"{}\" bandwidth=\"{}\"", escape(track.id), track.bandwidth);
        if (!track.codecs.empty()) add(" codecs=\"{}\"", escape(track.codecs));
        if (track.width > 0 && track.height > 0) add(" width=\"{}\" height=\"{}\"", track.width, track.height);
        if (track.frame_rate > 0) add(" frameRate=\"{}\"", frame_rate(track.frame_rate));
        if (track.sample_rate > 0) add(" audioSamplingRate=\"{}\"", track.sample_rate);
        if (track.channels == 0) return add("/>\n");
        add(">\n        <AudioChannelConfiguration "
            "schemeIdUri=\"urn:mpeg:dash:23003:3:audio_channel_configuration:2011\" value=\"{}\"/>\n"
            "      </Representation>\n",
            track.channels);
    }

    // The times of the stream and of the clock at the Period's start.
    void reference_time(const Period& period, const Track& track) {
        add("      <ProducerReferenceTime id=\"0\" type=\"encoder\" wallClockTime=\"{}\" presentationTime=\"{}\"/>\n",
            http::format_timestamp(period.start_us / 1'000), track.offset);
    }

    static size_t number_of(const Period& period, const Track& track) {
        return static_cast<size_t>(&track - period.tracks.data());
    }
    static std::string_view kind_of(const Track& track) { return track.video ? "video" : "audio"; }
    static int64_t end_of(const Segment& segment) { return segment.time + segment.duration; }

    void duration(std::string_view name, int64_t ms) { add(" {}=\"PT{}.{:03}S\"", name, ms / 1'000, ms % 1'000); }

    template <class... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        base::append_format(out_, format, std::forward<Args>(args)...);
    }

    const Manifest& manifest_;
    std::string out_;
};

}  // namespace

std::string write(const Manifest& manifest) { return Writer(manifest).write(); }

}  // namespace mpd
