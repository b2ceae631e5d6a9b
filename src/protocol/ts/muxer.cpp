#include "protocol/ts/muxer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ts {
namespace {

using media::Kind;
using media::Time;
using namespace std::chrono_literals;

constexpr size_t kMaxPesHeader = 19;
// Section 2.7.2 requires a PCR every 100 ms. Frames of the track without PCR trigger one a little earlier, so that the
// next one is not late.
constexpr Time kMaxClockGap = 100ms, kClockDue = 75ms;
// Longer pauses are not filled with PCR packets.
constexpr Time kPause = 2s;
// A larger step back in time is a new time base, a smaller one is uneven interleaving.
constexpr Time kRestart = 1s;

constexpr uint8_t kVideoStreamId = 0xe0, kAudioStreamId = 0xc0, kPrivateStreamId = 0xbd;

uint8_t audio_stream_id(media::Codec codec) {
    return codec == media::Codec::kAac || codec == media::Codec::kMp3 ? kAudioStreamId : kPrivateStreamId;
}

uint64_t ticks(Time time) { return static_cast<uint64_t>(media::to_ticks(time, kTicksPerSecond)); }

size_t packets_of(size_t first_room, size_t bytes) {
    return bytes <= first_room ? 1 : 1 + (bytes - first_room + kPayloadSize - 1) / kPayloadSize;
}

// Writes an adaptation field of `size` bytes including its length: flags, PCR, stuffing. Returns its end.
uint8_t* put_adaptation(uint8_t* p, size_t size, uint8_t flags, Time clock) {
    uint8_t* end = p + size;
    *p++ = static_cast<uint8_t>(size - 1);
    if (p == end) return end;
    *p++ = flags;
    if (flags & kHasPcr) p = put_pcr(p, ticks(clock));
    std::memset(p, 0xff, static_cast<size_t>(end - p));
    return end;
}

template <class Elementary>
Elementary& at(std::vector<Elementary>& tracks, uint8_t index) {
    if (index >= tracks.size()) tracks.resize(index + 1u);
    return tracks[index];
}

size_t adaptation_needed(uint8_t flags) { return flags & kHasPcr ? 8 : flags ? 2 : 0; }

}  // namespace

Muxer::Muxer(MuxerOptions options) : options_(options) { counters_.fill(15); }

base::Result<void> Muxer::set_header(const media::Frame& header) {
    if (header.kind == Kind::kData) return {};
    if (header.track >= media::kMaxTracks)
        return base::fail(base::Code::kLimit, fmt::format("track {} of a kind in MPEG-TS", header.track));
    plan_ = {};
    auto set = header.kind == Kind::kVideo ? at(video_, header.track).set_header(header)
                                           : at(audio_, header.track).set_header(header);
    update_program();
    return set;
}

void Muxer::set_tracks(std::span<const media::Track> tracks) {
    plan_ = {};
    video_.clear();
    audio_.clear();
    languages_ = {};
    for (const media::Track& track : tracks) {
        if (track.index >= media::kMaxTracks) continue;
        const media::Frame* config = track.config();
        // A track with an invalid header is left out, as program() shows.
        if (track.kind == Kind::kVideo && config) (void)at(video_, track.index).set_header(*config).has_value();
        if (track.kind != Kind::kAudio) continue;
        AudioElementary& audio = at(audio_, track.index);
        if (config)
            (void)audio.set_header(*config).has_value();
        else
            audio.set_codec(track.codec);
        languages_[track.index] = media::language_of(track.language);
    }
    update_program();
}

void Muxer::update_program() {
    Program program;
    for (size_t i = 0; i < video_.size(); ++i) program.video[i].codec = video_[i].codec();
    for (size_t i = 0; i < audio_.size(); ++i) {
        if (audio_[i].codec() == media::Codec::kNone) continue;
        program.audio[i] = {audio_[i].codec(), audio_[i].opus_channels(), audio_[i].low_rate_mp3(), languages_[i]};
    }
    if (program == program_) return;
    plan_ = {};
    program_ = program;
    program_changed_ = program_ != sent_program_;
    pcr_pid_ = program_.pcr_pid();
    has_video_ = program_.has_video();
    table_packets_ = tables_size(program_) / kPacketSize;
    low_rate_mp3_ = 0;
    for (size_t i = 0; i < media::kMaxTracks; ++i)
        low_rate_mp3_ = static_cast<uint8_t>(low_rate_mp3_ | program_.audio[i].low_rate_mp3 << i);
}

AudioElementary* Muxer::audio_of(const media::Frame& frame) {
    if (frame.track >= media::kMaxTracks) return nullptr;
    AudioElementary& audio = at(audio_, frame.track);
    if (audio.update(frame)) update_program();
    return &audio;
}

void Muxer::begin_plan(Kind kind, uint8_t track, uint8_t stream_id, Time dts) {
    plan_.pid = pid_of(kind, track);
    plan_.stream_id = stream_id;
    plan_.dts = dts;
    pieces_.clear();
    pieces_.emplace_back();  // filled with the PES header later
}

size_t Muxer::prepare(const media::Frame& frame) {
    plan_ = {};
    if (frame.sequence_header || frame.kind == Kind::kData) return 0;
    if (frame.kind == Kind::kVideo) {
        if (frame.track >= video_.size()) return 0;
        begin_plan(Kind::kVideo, frame.track, kVideoStreamId, frame.dts);
        size_t bytes = video_[frame.track].append(frame, pieces_);
        if (bytes == 0) return 0;
        plan_.keyframe = frame.keyframe;
        return finish_plan(bytes, std::max(frame.pts(), frame.dts), 0);
    }
    AudioElementary* audio = audio_of(frame);
    auto header = audio ? audio->put_header(frame, head_ + kMaxPesHeader) : std::nullopt;
    if (!header) return 0;
    begin_plan(Kind::kAudio, frame.track, audio_stream_id(frame.codec), frame.dts);
    pieces_.push_back(frame.payload);
    return finish_plan(frame.payload.size() + *header, frame.dts, *header);
}

std::optional<size_t> Muxer::put_audio_header(const media::Frame& frame, uint8_t out[AudioElementary::kMaxHeader]) {
    AudioElementary* audio = audio_of(frame);
    return audio ? audio->put_header(frame, out) : std::nullopt;
}

size_t Muxer::prepare_audio(uint8_t track, std::span<const uint8_t> bytes, Time dts) {
    CHECK(!bytes.empty() && bytes.size() <= AudioElementary::kMaxFrame + AudioElementary::kMaxHeader);
    plan_ = {};
    if (track >= audio_.size() || audio_[track].codec() == media::Codec::kNone) return 0;
    begin_plan(Kind::kAudio, track, audio_stream_id(audio_[track].codec()), dts);
    pieces_.push_back(bytes);
    return finish_plan(bytes.size(), dts, 0);
}

void Muxer::plan_tables() {
    bool changed = tables_sent_ && program_changed_;
    plan_.version = changed ? (version_ + 1) & 31 : version_;
    const Time age = plan_.dts - last_tables_;
    bool old = options_.tables_every > Time(0) && (age >= options_.tables_every || age < -kRestart);
    bool keyframe = options_.tables_at_keyframes && plan_.keyframe && plan_.pid == pcr_pid_;
    plan_.tables = changed || !tables_sent_ || tables_wanted_ || old || keyframe;
}

void Muxer::plan_clock() {
    bool own = plan_.pid == pcr_pid_;
    const Time gap = clock_begun_ ? plan_.dts - last_clock_ : Time(0);
    plan_.clock_restarts = gap < -kRestart;
    plan_.has_clock = own && (!clock_sent_ || gap > Time(0) || plan_.clock_restarts);
    if (own) {
        if (gap > kMaxClockGap && gap <= kPause && clock_sent_)
            plan_.clocks = static_cast<int>((gap - Time(1)) / kMaxClockGap);
        plan_.clock_step = gap / (plan_.clocks + 1);
    } else if (gap > kClockDue) {
        plan_.clocks = gap > kPause ? 1 : static_cast<int>((gap + kMaxClockGap - Time(1)) / kMaxClockGap);
        plan_.clock_step = gap / plan_.clocks;
    }
    plan_.first_clock = last_clock_ + plan_.clock_step;
}

uint8_t Muxer::first_flags() const {
    bool random_access = plan_.keyframe || !has_video_;
    uint8_t flags = random_access ? kRandomAccess : 0;
    if (plan_.has_clock) flags |= kHasPcr;
    if (plan_.clock_restarts && plan_.has_clock) flags |= kDiscontinuity;
    return flags;
}

size_t Muxer::finish_plan(size_t elementary_bytes, Time pts, size_t audio_header) {
    plan_tables();
    plan_clock();
    size_t header = pts == plan_.dts ? 14 : kMaxPesHeader;
    uint8_t* start = head_ + kMaxPesHeader - header;
    put_pes_header(start, elementary_bytes, pts);
    pieces_[0] = {start, header + audio_header};
    plan_.bytes = header + elementary_bytes;
    size_t first_room = kPayloadSize - adaptation_needed(first_flags());
    plan_.packets = packets_of(first_room, plan_.bytes) + static_cast<size_t>(plan_.clocks);
    if (plan_.tables) plan_.packets += table_packets_;
    piece_ = offset_ = 0;
    return plan_.packets * kPacketSize;
}

// Section 2.4.3.6. The length is written when it fits in 16 bits, although it is optional for video: a receiver then
// knows the end of the frame without waiting for the next.
void Muxer::put_pes_header(uint8_t* p, size_t elementary_bytes, Time pts) {
    bool with_dts = pts != plan_.dts;
    uint8_t fields = with_dts ? 10 : 5;
    size_t length = 3u + fields + elementary_bytes;
    p = base::put_u32(p, 0x100u | plan_.stream_id);
    p = base::put_u16(p, length > 0xffff ? 0 : static_cast<uint32_t>(length));
    *p++ = 0x84;  // the payload begins with an access unit
    *p++ = with_dts ? 0xc0 : 0x80;
    *p++ = fields;
    p = put_time_stamp(p, with_dts ? 3 : 2, ticks(pts + options_.delay));
    if (with_dts) put_time_stamp(p, 1, ticks(plan_.dts + options_.delay));
}

uint8_t* Muxer::write(uint8_t* out) { return out + write_some({out, plan_.packets * kPacketSize}); }

size_t Muxer::write_some(std::span<uint8_t> out) {
    size_t room = out.size() / kPacketSize;
    uint8_t* p = out.data();
    if (plan_.tables) {
        CHECK(room >= table_packets_);
        p = write_tables(p);
    }
    for (; plan_.clocks > 0 && p < out.data() + room * kPacketSize; --plan_.clocks) p = write_clock(p);
    size_t left = room - static_cast<size_t>(p - out.data()) / kPacketSize;
    if (left > 0 && plan_.bytes > 0 && !plan_.begun) {
        p = write_first(p);
        --left;
    }
    if (size_t whole = std::min(left, plan_.bytes / kPayloadSize); whole > 0 && plan_.begun) {
        p = write_middle(p, whole);
        left -= whole;
    }
    if (left > 0 && plan_.bytes > 0 && plan_.bytes < kPayloadSize) p = write_last(p);
    auto written = static_cast<size_t>(p - out.data());
    plan_.packets -= written / kPacketSize;
    return written;
}

uint8_t* Muxer::write_tables(uint8_t* out) {
    version_ = plan_.version;
    tables_sent_ = true;
    tables_wanted_ = false;
    if (program_changed_) sent_program_ = program_;
    program_changed_ = false;
    last_tables_ = plan_.dts;
    plan_.tables = false;
    plan_.had_tables = true;
    out = put_tables(out, program_, version_, (pat_cc_ + 1) & 15, (pmt_cc_ + 1) & 15);
    pat_cc_ = (pat_cc_ + 1) & 15;
    pmt_cc_ = static_cast<uint8_t>(pmt_cc_ + table_packets_ - 1) & 15;
    return out;
}

// A packet without payload repeats the counter of the previous one.
uint8_t* Muxer::write_clock(uint8_t* out) {
    uint8_t* p = put_packet_header(out, pcr_pid_, false, true, false, counter(pcr_pid_));
    p = put_adaptation(p, kPayloadSize, kHasPcr, plan_.first_clock);
    last_clock_ = plan_.first_clock;
    plan_.first_clock += plan_.clock_step;
    clock_sent_ = clock_begun_ = true;
    return p;
}

uint8_t* Muxer::write_first(uint8_t* out) {
    plan_.begun = true;
    uint8_t flags = first_flags();
    if (plan_.has_clock) {
        last_clock_ = plan_.dts;
        clock_sent_ = true;
    } else if (!clock_begun_) {
        last_clock_ = plan_.dts;
    }
    clock_begun_ = true;
    return write_edge(out, true, flags);
}

uint8_t* Muxer::write_last(uint8_t* out) { return write_edge(out, false, 0); }

// Writes a packet that is not all payload: the first, or the last with its stuffing.
uint8_t* Muxer::write_edge(uint8_t* out, bool first, uint8_t flags) {
    uint8_t& cc = counter(plan_.pid);
    cc = (cc + 1) & 15;
    size_t payload = std::min(plan_.bytes, kPayloadSize - adaptation_needed(flags));
    size_t adaptation = kPayloadSize - payload;
    out = put_packet_header(out, plan_.pid, first, adaptation > 0, true, cc);
    if (adaptation > 0) out = put_adaptation(out, adaptation, flags, plan_.dts);
    plan_.bytes -= payload;
    return take_payload(out, payload);
}

// The hot loop: most packets are a header and 184 bytes of one piece.
uint8_t* Muxer::write_middle(uint8_t* out, size_t count) {
    uint8_t header[4];
    put_packet_header(header, plan_.pid, false, false, true, 0);
    uint8_t cc = counter(plan_.pid);
    auto put_header = [&] {
        cc = (cc + 1) & 15;
        std::memcpy(out, header, sizeof header);
        out[3] = header[3] | cc;
        out += sizeof header;
    };
    plan_.bytes -= count * kPayloadSize;
    while (count > 0) {
        const uint8_t* from = pieces_[piece_].data() + offset_;
        size_t whole = std::min(count, (pieces_[piece_].size() - offset_) / kPayloadSize);
        for (size_t i = 0; i < whole; ++i) {
            put_header();
            std::memcpy(out, from, kPayloadSize);
            from += kPayloadSize;
            out += kPayloadSize;
        }
        offset_ += whole * kPayloadSize;
        count -= whole;
        if (count == 0) break;
        put_header();
        out = take_payload(out, kPayloadSize);
        --count;
    }
    counter(plan_.pid) = cc;
    return out;
}

uint8_t* Muxer::take_payload(uint8_t* out, size_t bytes) {
    while (bytes > 0) {
        auto rest = pieces_[piece_].subspan(offset_);
        size_t take = std::min(bytes, rest.size());
        std::memcpy(out, rest.data(), take);
        out += take;
        bytes -= take;
        offset_ += take;
        if (offset_ == pieces_[piece_].size()) {
            ++piece_;
            offset_ = 0;
        }
    }
    return out;
}

uint8_t* Muxer::put_tables_at(std::span<const media::Track> tracks, const StartPoint& point, uint8_t* out) {
    Muxer muxer;
    muxer.set_tracks(tracks);
    Program program = muxer.program();
    for (size_t i = 0; i < media::kMaxTracks; ++i) program.audio[i].low_rate_mp3 = (point.low_rate_mp3 >> i & 1) != 0;
    // Their last packets have the counters of the tables that would be before.
    const auto map_cc = static_cast<uint8_t>(point.pmt_cc + 1 - map_packets(program));
    return put_tables(out, program, point.version, point.pat_cc, map_cc & 15);
}

}  // namespace ts
