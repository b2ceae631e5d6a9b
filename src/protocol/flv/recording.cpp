#include "protocol/flv/recording.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/bytes.h"
#include "media/track.h"
#include "protocol/amf/amf0.h"
#include "protocol/flv/audio_format.h"
#include "protocol/flv/metadata.h"
#include "protocol/flv/tag.h"

namespace flv {

using amf::Value;
using base::Code;
using base::fail;
using base::Result;
using media::Frame;
using media::Kind;

namespace {

constexpr std::string_view kServer = "server";
// Members that recording_head sets itself.
constexpr std::string_view kOurs[] = {"duration", "filesize",     "lasttimestamp", "hasVideo",
                                      "hasAudio", "hasKeyframes", "keyframes",     "filler",
                                      "server",   "canSeekToEnd", "hasMetadata"};
constexpr size_t kMaxMembers = 64;
constexpr size_t kLongestText = 256;
constexpr size_t kNumber = 9;    // bytes of an AMF0 number
constexpr size_t kToSpare = 64;  // for a longer `about`

bool is_ours(std::string_view name) { return std::ranges::find(kOurs, name) != std::end(kOurs); }

bool is_plain(const Value& value) {
    if (value.is_string()) return value.string_or({}).size() <= kLongestText;
    return value.is_boolean() || (value.is_number() && std::isfinite(value.number_or(0)));
}

void copy_members(const Value& from, Value& to) {
    for (const amf::Member& member : from.members()) {
        if (to.members().size() >= kMaxMembers) return;
        bool name_fits = !member.name.empty() && member.name.size() <= kLongestText;
        if (name_fits && !is_ours(member.name) && is_plain(member.value)) to.set(member.name, member.value);
    }
}

Value numbers(std::span<const KeyframeIndex::Entry> entries, auto number) {
    std::vector<Value> values;
    values.reserve(entries.size());
    for (const KeyframeIndex::Entry& entry : entries) values.emplace_back(number(entry));
    return Value::strict_array(std::move(values));
}

// Some readers reject an index of only one keyframe.
constexpr size_t kLeastIndex = 2;

// The members of onMetaData without the filler, which takes the remaining room.
Value story(const Value& about, const RecordingIndex& index, uint64_t file_size) {
    Value v = about;
    bool closed = file_size > 0;
    v.set("duration", closed ? static_cast<double>(index.duration_ms()) / 1000 : 0.0);
    v.set("filesize", static_cast<double>(file_size));
    v.set("lasttimestamp", closed ? static_cast<double>(std::max<int64_t>(index.last_ms(), 0)) / 1000 : 0.0);
    v.set("hasVideo", index.has_video());
    v.set("hasAudio", index.has_audio());
    const auto& entries = index.keyframes().entries();
    bool indexed = closed && entries.size() >= kLeastIndex;
    v.set("hasKeyframes", indexed);
    if (!indexed) return v;
    Value keyframes = Value::object();
    keyframes.set("times", numbers(entries, [](const auto& e) { return e.time_ms / 1000.0; }));
    keyframes.set("filepositions", numbers(entries, [](const auto& e) { return static_cast<double>(e.position); }));
    v.set("keyframes", std::move(keyframes));
    return v;
}

std::vector<uint8_t> body_of(const Value& value) {
    std::vector<uint8_t> body;
    base::ByteWriter writer(body);
    amf::encode_amf0(kOnMetaData, writer);
    amf::encode_amf0(value, writer);
    return body;
}

// Grows the empty array at the end of the body by that many bytes: numbers 0.0 as far as whole numbers fit, then nulls.
void fill(std::vector<uint8_t>& body, size_t bytes) {
    constexpr size_t kEnd = 3;  // bytes of the object's end marker after it
    constexpr uint8_t kNull = 5;
    size_t at = body.size() - kEnd;
    base::put_u32(body.data() + at - 4, static_cast<uint32_t>(bytes / kNumber + bytes % kNumber));
    auto position = body.begin() + static_cast<ptrdiff_t>(at);
    position = body.insert(position, bytes, 0);  // a number 0.0 is encoded as zeros only
    std::fill_n(position + static_cast<ptrdiff_t>(bytes - bytes % kNumber), bytes % kNumber, kNull);
}

size_t with_frame(size_t body) { return kFileHeaderSize + kTagHeaderSize + body + kPreviousTagSize; }

// Size of a head with an index but without its entries, and with an empty filler.
size_t least_size(const Value& about) {
    RecordingIndex index(kLeastIndex);
    for (size_t i = 0; i < kLeastIndex; ++i) index.add(Kind::kVideo, 0, true, 0);
    Value v = story(about, index, 1);
    v.set("filler", Value::strict_array());
    return with_frame(body_of(v).size()) - kLeastIndex * 2 * kNumber;
}

}  // namespace

void KeyframeIndex::add(int64_t time_ms, uint64_t position) {
    if (seen_++ % every_ != 0 || capacity_ == 0) return;
    if (entries_.size() == capacity_) {
        thin();
        if ((seen_ - 1) % every_ != 0) return;
    }
    entries_.push_back({time_ms, position});
}

void KeyframeIndex::thin() {
    size_t kept = 0;
    for (size_t i = 0; i < entries_.size(); i += 2) entries_[kept++] = entries_[i];
    entries_.resize(kept);
    every_ *= 2;
}

void RecordingIndex::add(Kind kind, int64_t time_ms, bool keyframe, uint64_t position) {
    Track& track = tracks_[kind == Kind::kVideo ? 0 : 1];
    if (track.frames++ == 0) {
        track.first = time_ms;
    } else {
        track.step = std::clamp<int64_t>(time_ms - track.last, 0, 1000);
    }
    track.last = time_ms;
    if (kind == Kind::kVideo && keyframe) keyframes_.add(time_ms, position);
}

int64_t RecordingIndex::first_ms() const {
    int64_t first = INT64_MAX;
    for (const Track& track : tracks_)
        if (track.frames > 0) first = std::min(first, track.first);
    return first == INT64_MAX ? 0 : first;
}

int64_t RecordingIndex::last_ms() const {
    int64_t last = 0;
    for (const Track& track : tracks_)
        if (track.frames > 0) last = std::max(last, track.last);
    return last;
}

int64_t RecordingIndex::duration_ms() const {
    int64_t end = 0;
    for (const Track& track : tracks_)
        if (track.frames > 0) end = std::max(end, track.last + track.step);
    return std::max<int64_t>(end - first_ms(), 0);
}

Value recording_about(const Frame* metadata, const Frame* video, const Frame* audio, std::string_view server) {
    Value about = Value::ecma_array();
    about.set(kServer, server);
    if (metadata) {
        base::ByteReader reader(metadata->payload);
        auto values = amf::decode_amf0_all(reader);
        if (values && values->size() >= 2) copy_members((*values)[1], about);
    }
    // Values from the headers take precedence over those of the publisher.
    media::VideoInfo video_info;
    media::AudioInfo audio_info;
    if (video) {
        video_info.codec = video->codec;
        if (auto info = media::video_info(*video)) video_info = *info;
    }
    if (audio) {
        audio_info.codec = audio->codec;
        if (auto info = flv::audio_info(*audio)) audio_info = *info;
    }
    base::Slice told = make_metadata(video ? &video_info : nullptr, audio ? &audio_info : nullptr, server);
    base::ByteReader reader(told);
    if (auto values = amf::decode_amf0_all(reader); values && values->size() >= 2) copy_members((*values)[1], about);
    return about;
}

size_t recording_head_size(const Value& about, size_t keyframes) {
    return least_size(about) + kToSpare + 2 * kNumber * keyframes;
}

size_t recording_head_room(const Value& about, size_t head_size) {
    size_t least = least_size(about);
    return head_size < least ? 0 : (head_size - least) / (2 * kNumber);
}

std::vector<uint8_t> recording_head(const Value& about, const RecordingIndex& index, uint64_t file_size,
                                    size_t head_size) {
    Value v = story(about, index, file_size);
    v.set("filler", Value::strict_array());
    std::vector<uint8_t> body = body_of(v);
    if (with_frame(body.size()) > head_size) {  // `about` became longer with later metadata: the index takes precedence
        Value bare = Value::ecma_array();
        bare.set(kServer, about.get(kServer));
        v = story(bare, index, file_size);
        v.set("filler", Value::strict_array());
        body = body_of(v);
    }
    CHECK(with_frame(body.size()) <= head_size);
    fill(body, head_size - with_frame(body.size()));
    std::vector<uint8_t> head(head_size);
    // Before anything is recorded both tracks are announced, because either may follow.
    bool known = file_size > 0;
    uint8_t* p = put_file_header(head.data(), !known || index.has_audio(), !known || index.has_video());
    p = put_tag_header(p, TagType::kScript, static_cast<uint32_t>(body.size()), 0);
    p = std::ranges::copy(body, p).out;
    p = put_previous_tag_size(p, static_cast<uint32_t>(body.size()));
    CHECK(p == head.data() + head.size());
    return head;
}

size_t recording_head_length(std::span<const uint8_t> probe) {
    base::ByteReader r(probe);
    bool flv = r.text(3) == "FLV" && r.u8() == 1;
    r.skip(1);
    if (!flv || r.u32() != 9) return 0;
    r.skip(4);
    if (r.u8() != static_cast<uint8_t>(TagType::kScript)) return 0;
    uint32_t body = r.u24();
    r.skip(7);
    return r.ok() ? with_frame(body) : 0;
}

Result<ReadHead> read_recording_head(std::span<const uint8_t> start, std::string_view server) {
    size_t size = recording_head_length(start);
    if (size == 0) return fail(Code::kProtocol, "not an FLV file that begins with metadata");
    if (start.size() < size) return fail(Code::kProtocol, "the FLV head is incomplete");
    base::ByteReader reader(start.subspan(kFileHeaderSize + kTagHeaderSize));
    base::ByteReader body(reader.bytes(size - with_frame(0)));
    // The limit allows the largest index and a filler of the same size.
    std::vector<Value> values = TRY(amf::decode_amf0_all(body, {.values = 300'000}), kOnMetaData);
    if (values.size() != 2 || values[0].string_or({}) != kOnMetaData ||
        values[1].get(kServer).string_or({}) != server || !values[1].has("filler"))
        return fail(Code::kProtocol, "the FLV head was not written by this server");
    ReadHead head;
    head.size = size;
    head.about = Value::ecma_array();
    head.about.set(kServer, server);
    copy_members(values[1], head.about);
    return head;
}

}  // namespace flv
