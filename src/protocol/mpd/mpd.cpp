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

    Text write() {
        head();
        out_.head_end = out_.text.size();
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
        if (manifest_.low_latency) reference_time(period, track.representations.front());
        add("      <Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"{}\"/>\n", track.main ? "main" : "alternate");
        for (const Representation& one : track.representations) representation(one);
        add("    </AdaptationSet>\n");
    }

    void representation(const Representation& one) {
        add("      <Representation id=\"{}\" bandwidth=\"{}\"", escape(one.id), one.bandwidth);
        if (!one.codecs.empty()) add(" codecs=\"{}\"", escape(one.codecs));
        if (one.width > 0 && one.height > 0) add(" width=\"{}\" height=\"{}\"", one.width, one.height);
        if (one.frame_rate > 0) add(" frameRate=\"{}\"", frame_rate(one.frame_rate));
        if (one.sample_rate > 0) add(" audioSamplingRate=\"{}\"", one.sample_rate);
        add(">\n");
        if (one.channels > 0)
            add("        <AudioChannelConfiguration "
                "schemeIdUri=\"urn:mpeg:dash:23003:3:audio_channel_configuration:2011\" value=\"{}\"/>\n",
                one.channels);
        segments(one);
        add("      </Representation>\n");
    }

    void segments(const Representation& one) {
        add("        <SegmentTemplate timescale=\"{}\" presentationTimeOffset=\"{}\"", one.timescale, one.offset);
        if (const auto& low = manifest_.low_latency)
            add(" availabilityTimeOffset=\"{:.3f}\" availabilityTimeComplete=\"false\"",
                static_cast<double>(low->segment_us - low->part_us) / 1e6);
        add(" startNumber=\"{}\"\n            initialization=\"{}", one.start_number, escape(one.initialization));
        out_.url_ends.push_back(out_.text.size());
        add("\" media=\"{}", escape(one.media));
        out_.url_ends.push_back(out_.text.size());
        add("\">\n          <SegmentTimeline>\n");
        for (size_t i = 0; i < one.segments.size();) i += run(one.segments, i);
        add("          </SegmentTimeline>\n        </SegmentTemplate>\n");
    }

    // Segments of the same duration, one after the other. Returns how many.
    size_t run(const std::vector<Segment>& segments, size_t begin) {
        const Segment& first = segments[begin];
        const bool follows = begin > 0 && end_of(segments[begin - 1]) == first.time;
        size_t end = begin + 1;
        while (end < segments.size() && segments[end].duration == first.duration &&
               segments[end].time == end_of(segments[end - 1]))
            ++end;
        add("            <S");
        if (!follows) add(" t=\"{}\"", first.time);
        add(" d=\"{}\"", first.duration);
        if (end - begin > 1) add(" r=\"{}\"", end - begin - 1);
        add("/>\n");
        return end - begin;
    }

    // The times of the stream and of the clock at the Period's start.
    void reference_time(const Period& period, const Representation& one) {
        add("      <ProducerReferenceTime id=\"0\" type=\"encoder\" wallClockTime=\"{}\" presentationTime=\"{}\"/>\n",
            http::format_timestamp(period.start_us / 1'000), one.offset);
    }

    static size_t number_of(const Period& period, const Track& track) {
        return static_cast<size_t>(&track - period.tracks.data());
    }
    static std::string_view kind_of(const Track& track) { return track.video ? "video" : "audio"; }
    static int64_t end_of(const Segment& segment) { return segment.time + segment.duration; }

    void duration(std::string_view name, int64_t ms) { add(" {}=\"PT{}.{:03}S\"", name, ms / 1'000, ms % 1'000); }

    template <class... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        base::append_format(out_.text, format, std::forward<Args>(args)...);
    }

    const Manifest& manifest_;
    Text out_;
};

}  // namespace

Text write(const Manifest& manifest) { return Writer(manifest).write(); }

std::string Text::personal(std::string_view location, std::string_view query) const {
    const std::string escaped = escape(query);
    std::string out = text.substr(0, head_end);
    if (!location.empty()) out.append("  <Location>").append(escape(location)).append("</Location>\n");
    size_t done = head_end;
    for (const size_t end : url_ends) {
        out.append(text, done, end - done).append(escaped);
        done = end;
    }
    return out.append(text, done);
}

}  // namespace mpd
