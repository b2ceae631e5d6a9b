#include "service/hls/dash/dash.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/utf8.h"
#include "media/codec_parameter.h"
#include "media/language.h"
#include "media/track.h"

namespace service::hls {

namespace {

constexpr size_t kMaxLabelBytes = 128;

// "video", "audio", "audio2": as SRS has them.
std::string name_of(size_t number) {
    if (number == 0) return "video";
    return number == 1 ? "audio" : fmt::format("audio{}", number);
}

// What HLS would have to be configured as to make the files of a track.
OutputOptions options_of(const OutputOptions& options, const std::string& name) {
    OutputOptions out = options;
    VhostConfig& hls = out.hls;
    const DashConfig& dash = options.dash;
    const std::string file = dash_directory(dash) + name;
    hls.use_fmp4 = true;
    hls.keys = false;
    hls.low_latency = options.hls.has_parts();
    hls.path = dash.path;
    hls.m3u8_file = file + ".m3u8";
    hls.fmp4_file = file + "-[seq].m4s";
    hls.init_file = file + "-init.mp4";
    hls.entry_prefix.clear();
    hls.key_file.clear();
    hls.key_file_path.clear();
    hls.window = dash.timeshift;
    hls.dvr_window = 0;
    hls.cleanup = dash.cleanup;
    hls.dispose = dash.dispose;
    hls.recover = false;
    hls.ts_floor = false;
    return out;
}

base::Result<SegmentPaths> paths_of(const OutputOptions& options, const std::string& name) {
    return SegmentPaths::make(options_of(options, name).hls, options.key, true);
}

}  // namespace

base::Result<std::string> Dash::manifest_path_of(const OutputOptions& options) {
    TRY(paths_of(options, name_of(0)));
    const std::string& name = options.key.name;
    if ((name == "video" || name.starts_with("audio")) && options.key.app.find('/') != std::string::npos)
        return base::fail(base::Code::kRefused, fmt::format("'{}' is named as a track of another stream", name));
    VhostConfig hls = options_of(options, name_of(0)).hls;
    hls.m3u8_file = options.dash.mpd_file;
    return TRY(SegmentPaths::make(hls, options.key, true)).playlist();
}

std::optional<uint64_t> Dash::remove_left(const OutputOptions& options) {
    std::vector<SegmentPaths> paths;
    for (size_t number = 0; number < kTracks; ++number) paths.push_back(*paths_of(options, name_of(number)));
    return service::hls::remove_left(files_options(options_of(options, name_of(0))), std::move(paths));
}

Dash::Dash(DashHost& host, const OutputOptions& options, net::Resources& resources,
           std::shared_ptr<SegmentTimeline> timeline, SegmentWriter& writer)
    : host_(host),
      options_(options),
      stream_(std::make_shared<const live::StreamKey>(options.key)),
      resources_(resources),
      timeline_(std::move(timeline)),
      writer_(writer),
      manifest_path_(manifest_path_of(options).value_or(std::string())),
      file_(fmt::format("{}/{}", root_of(options_of(options, name_of(0)).hls), manifest_path_), options.key.text()) {
    const std::string list = paths_of(options, name_of(0))->playlist();
    directory_ = list.substr(0, list.rfind('/') + 1);
}

// Those who wait are told.
Dash::~Dash() {
    for (Track& track : tracks_) withdraw(track);
}

Dash::Track& Dash::make_track(size_t number) {
    Track& track = tracks_[number];
    if (track.rendition) return track;
    const OutputOptions options = options_of(options_, name_of(number));
    RenditionHost& host = *this;
    track.rendition = std::make_unique<Rendition>(host, options.hls, *paths_of(options_, name_of(number)),
                                                  files_options(options), resources_, timeline_, writer_, false);
    return track;
}

void Dash::for_each(const std::function<void(Rendition&)>& visit) const {
    for (const Track& track : tracks_)
        if (track.rendition) visit(*track.rendition);
}

// ---- A segment

void Dash::begin_publishing() {
    has_ended_ = false;
    changed();
}

void Dash::begin_list() {
    begin_ = timeline_->end();
    changed();
}

void Dash::open(const media::TrackSet& tracks, const media::Frame& first) {
    for (Track& track : tracks_) track.is_active = false;
    for (const media::Track& track : tracks.tracks) {
        const bool is_video = track.kind == media::Kind::kVideo;
        if (track.kind == media::Kind::kData || (is_video && track.index > 0)) continue;
        if (writer_.tracks().has(track.kind, track.index))
            open_track(is_video ? 0 : size_t{1} + track.index, track, first);
    }
}

void Dash::open_gap() {
    for (Track& track : tracks_) {
        track.is_active = false;
        withdraw(track);
    }
}

void Dash::open_track(size_t number, const media::Track& media, const media::Frame& first) {
    Track& track = make_track(number);
    track.lane = writer_.tracks().lane_of(media.kind, media.index);
    if (auto opened = track.rendition->open(track.lane); !opened)
        return host_.dash_failed(track.rendition->paths().playlist(), opened.error());
    track.is_active = true;
    if (track.announced.empty()) announce(track, timeline_->end());
    if (!writer_.has_new_init() && track.description) return;
    track.description = std::make_shared<Description>();
    track.description->first = timeline_->end();
    const bool is_video = number == 0;
    track.description->track = {.video = is_video,
                                .main = number <= 1,
                                .language = media::language_tag(media.language),
                                .label = base::utf8(media.label, kMaxLabelBytes),
                                .representations = {mpd::Representation()}};
    mpd::Representation& out = track.description->track.representations.front();
    out.id = name_of(number);
    out.codecs = media::codec_parameter(media);
    if (!media.header) return;
    if (is_video) {
        auto info = media::video_info(*media.header);
        // VP9's sequence header does not contain the size.
        if (info && info->width == 0 && first.keyframe) info = media::video_info(first);
        if (info) out.width = info->width, out.height = info->height;
    } else if (const auto info = media::audio_info(*media.header)) {
        out.sample_rate = info->sample_rate;
        out.channels = info->channels;
    }
}

void Dash::end_part() {
    for (Track& track : tracks_) {
        if (!track.is_active) continue;
        net::Resource grown = track.rendition->grow();
        if (grown.size == 0) continue;
        resources_.grow(options_.key.vhost, track.announced, std::move(grown));
    }
    changed();
}

void Dash::close(SegmentTimeline::Id id, double frame_rate) {
    for (Track& track : tracks_) {
        if (!track.is_active) continue;
        const convert::LaneTimes times = writer_.tracks().times(track.lane);
        track.rendition->close(id);
        if (times.timescale > 0 && track.description) {
            mpd::Representation& out = track.description->track.representations.front();
            const double length = static_cast<double>(times.end - times.begin) / times.timescale;
            const auto bytes = static_cast<double>(track.rendition->list().find(id)->content.bytes);
            out.bandwidth = std::max(out.bandwidth, static_cast<uint64_t>(8 * bytes / std::max(.001, length)));
            if (track.description->track.video) out.frame_rate = frame_rate;
            track.rows.push_back({id, times, track.description});
        }
        withdraw(track);  // unless it is there
        announce(track, id + 1);
    }
    changed();
}

void Dash::lose() {
    for (Track& track : tracks_) {
        if (track.is_active) track.rendition->lose();
        track.is_active = false;
        withdraw(track);
    }
}

void Dash::leave_out(const media::Frame& frame, const base::Error& why) {
    Track& track = tracks_[frame.kind == media::Kind::kVideo ? 0 : size_t{1} + frame.track];
    if (!std::exchange(track.is_active, false)) return;
    track.rendition->lose();
    withdraw(track);
    host_.dash_failed(track.rendition->paths().playlist(), why);
}

// ---- Segments that are waited for

// Where it will be in memory.
void Dash::announce(Track& track, SegmentTimeline::Id id) {
    if (options_.hls.storage == "disk" && !has_parts()) return;
    track.announced = track.rendition->paths().segment({timeline_->sequence(id), 0, 0});
    const int64_t limit_ms = timeline_->target_s() * 1'000 + 1'000;
    resources_.announce(options_.key.vhost, track.announced, stream_, limit_ms);
}

void Dash::withdraw(Track& track) {
    if (!track.announced.empty()) resources_.withdraw(options_.key.vhost, track.announced);
    track.announced.clear();
}

// ---- Time

void Dash::segment_done(Rendition&, SegmentTimeline::Id, const std::string&) {
    changed();
    host_.dash_changed();
}

void Dash::changed() {
    changed_ms_ = base::wall_ms();
    ++changes_;
    text_.reset();
    is_file_old_ = true;
}

void Dash::end() {
    if (std::exchange(has_ended_, true)) return;
    changed();
    written_ms_ = 0;
    for (Track& track : tracks_) withdraw(track);
}

void Dash::tick(int64_t now_ms) {
    for (Track& track : tracks_)
        while (!track.rows.empty() && track.rows.front().id < timeline_->kept()) track.rows.pop_front();
    const auto period_ms = static_cast<int64_t>(options_.dash.update_period * 1'000);
    if (!on_disk() || !is_file_old_ || (written_ms_ > 0 && now_ms - written_ms_ < period_ms)) return;
    if (!has_manifest()) return;
    file_.retry();
    file_.set(manifest().text);
    is_file_old_ = false;
    written_ms_ = now_ms;
}

void Dash::dispose() {
    for (Track& track : tracks_) {
        track.rows.clear();
        withdraw(track);
    }
    changed();
    file_.set({});
}

}  // namespace service::hls
