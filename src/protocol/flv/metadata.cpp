#include "protocol/flv/metadata.h"

#include <fmt/format.h>

#include <cmath>

#include "base/bytes.h"
#include "protocol/amf/amf0.h"
#include "protocol/flv/codec_ids.h"

namespace flv {

using amf::Value;
using base::Code;
using base::fail;
using base::Result;
using media::Codec;
using media::Kind;

namespace {

// Reads an FLV codec id or a FourCC given as number. Some writers give a text: "avc1".
std::optional<Codec> read_codec(Kind kind, const Value& value) {
    if (value.is_string()) {
        std::string_view text = value.string_or({});
        if (text.size() != 4) return std::nullopt;
        uint32_t fourcc = 0;
        for (char c : text) fourcc = fourcc << 8 | static_cast<uint8_t>(c);
        return codec_from_fourcc(kind, fourcc);
    }
    int64_t id = value.int_or(-1, -1, UINT32_MAX);
    if (id < 256) return codec_from_id(kind, static_cast<int>(id));
    return codec_from_fourcc(kind, static_cast<uint32_t>(id));
}

double finite(const Value& value) {
    double number = value.number_or(0);
    return std::isfinite(number) && number > 0 ? number : 0;
}

// The id that a publisher of that codec would send: FLV ids for H.264 and AAC, FourCCs for newer codecs.
double codec_id(Codec codec) {
    const CodecIds& ids = codec_ids(codec);
    bool enhanced = ids.id < 0 || codec == Codec::kHevc;
    return enhanced ? static_cast<double>(ids.fourcc) : ids.id;
}

// The second value, behind the name.
Result<Value> read_members(const base::Slice& payload) {
    base::ByteReader reader(payload);
    std::vector<Value> values = TRY(amf::decode_amf0_all(reader), kOnMetaData);
    if (values.empty() || values[0].string_or({}) != kOnMetaData) return fail(Code::kProtocol, "no onMetaData");
    return values.size() < 2 ? Value() : std::move(values[1]);
}

void read_names(const Value& map, Kind kind, std::vector<media::TrackName>& names) {
    constexpr size_t kMaxLanguageBytes = 32, kMaxLabelBytes = 128;
    for (uint8_t id = 0; id < media::kMaxTracks; ++id) {
        const Value& track = map.get(fmt::format("{}", id));
        const std::string_view label = track.get("label").string_or(track.get("title").string_or({}));
        const std::string_view language = track.get("language").string_or({});
        if (language.empty() && label.empty()) continue;
        names.push_back({kind, id, std::string(language.substr(0, kMaxLanguageBytes)),
                         std::string(label.substr(0, kMaxLabelBytes))});
    }
}

}  // namespace

std::vector<media::TrackName> track_names(const media::Frame& metadata) {
    std::vector<media::TrackName> names;
    if (metadata.payload.text().find("TrackIdInfoMap") == std::string_view::npos) return names;
    if (auto members = read_members(metadata.payload)) {
        read_names(members->get("videoTrackIdInfoMap"), Kind::kVideo, names);
        read_names(members->get("audioTrackIdInfoMap"), Kind::kAudio, names);
    }
    return names;
}

bool says_absolute_times(const media::Frame& metadata) {
    constexpr std::string_view kName(
        "\x00\x09"
        "bravo_atc",
        11);
    return metadata.payload.text().find(kName) != std::string_view::npos;
}

Result<Metadata> read_metadata(const base::Slice& payload) {
    const Value v = TRY(read_members(payload));
    Metadata m;
    m.width = static_cast<int>(v.get("width").int_or(0, 0, 65535));
    m.height = static_cast<int>(v.get("height").int_or(0, 0, 65535));
    m.framerate = finite(v.get("framerate"));
    if (m.framerate == 0) m.framerate = finite(v.get("fps"));
    m.duration = finite(v.get("duration"));
    m.video_data_rate = finite(v.get("videodatarate"));
    m.audio_data_rate = finite(v.get("audiodatarate"));
    m.audio_sample_rate = static_cast<int>(v.get("audiosamplerate").int_or(0, 0, 1 << 24));
    m.audio_channels = static_cast<int>(v.get("audiochannels").int_or(0, 0, 255));
    if (m.audio_channels == 0 && v.has("stereo")) m.audio_channels = v.get("stereo").bool_or(false) ? 2 : 1;
    m.video_codec = read_codec(Kind::kVideo, v.get("videocodecid"));
    m.audio_codec = read_codec(Kind::kAudio, v.get("audiocodecid"));
    m.has_video = v.get("hasVideo").bool_or(m.video_codec || m.width > 0);
    m.has_audio = v.get("hasAudio").bool_or(m.audio_codec || m.audio_sample_rate > 0);
    m.encoder = v.get("encoder").string_or({}).substr(0, 256);
    return m;
}

base::Slice make_metadata(const media::VideoInfo* video, const media::AudioInfo* audio, std::string_view server) {
    Value v = Value::ecma_array();
    v.set("server", server);
    if (video) {
        if (video->width > 0) v.set("width", video->width);
        if (video->height > 0) v.set("height", video->height);
        v.set("videocodecid", codec_id(video->codec));
    }
    if (audio) {
        v.set("audiocodecid", codec_id(audio->codec));
        if (audio->sample_rate > 0) v.set("audiosamplerate", audio->sample_rate);
        if (audio->channels > 0) {
            v.set("audiochannels", audio->channels);
            v.set("stereo", audio->channels > 1);
        }
    }
    v.set("hasVideo", video != nullptr);
    v.set("hasAudio", audio != nullptr);
    std::vector<uint8_t> out;
    base::ByteWriter writer(out);
    amf::encode_amf0(kOnMetaData, writer);
    amf::encode_amf0(v, writer);
    return base::Slice::copy(out);
}

}  // namespace flv
