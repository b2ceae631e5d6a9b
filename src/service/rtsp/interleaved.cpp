#include "service/rtsp/interleaved.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "protocol/rtcp/writer.h"
#include "protocol/rtp/ntp.h"
#include "protocol/sdp/session/write.h"
#include "runtime/loop/random.h"

namespace service::rtsp {

namespace {

// The same for all tracks: by it a player knows that they belong together (RFC 3550, 6.5.1).
constexpr std::string_view kCname = "stream";
constexpr size_t kReportBytes = 64;
// Players have buffers for packets of UDP's size.
constexpr size_t kPacketBytes = 1400;
// AAC frames wait for others for this part of the interval at which players are sent what is new.
constexpr int kJoinedShare = 3;

std::unique_ptr<live::WireEncoder> make_interleaved(const live::LogKey& key) {
    return std::make_unique<InterleavedEncoder>(PlayKey(key));
}

}  // namespace

const live::WireFormat* interleaved_format() {
    static constexpr live::WireFormat kFormat{"rtsp", make_interleaved};
    return &kFormat;
}

std::optional<uint16_t> sequence_at(uint32_t start_state, size_t track) {
    if (track > 1) return std::nullopt;
    return static_cast<uint16_t>(track == 0 ? start_state >> 16 : start_state);
}

InterleavedEncoder::InterleavedEncoder(const PlayKey& key) : size_(key.size()) {
    for (size_t i = 0; i < size_; ++i) {
        slots_[i].track = key[i];
        slots_[i].ssrc = runtime::secret_u32();
    }
}

void InterleavedEncoder::make_writer(Slot& slot, const media::TrackSet& tracks, const media::Track& track) {
    const std::vector<sdp::SessionTrack> described = sdp::session_tracks(tracks);
    const auto same = std::ranges::find_if(
        described, [&](const sdp::SessionTrack& one) { return one.kind == track.kind && one.index == track.index; });
    if (same == described.end()) return;
    convert::RtpWriterOptions options;
    options.format = same->format;
    options.payload_type = slot.track.payload_type;
    options.ssrc = slot.ssrc;
    options.sequence = static_cast<uint16_t>(runtime::secret_u32());
    options.max_packet = kPacketBytes;
    options.channel = slot.track.channel;
    if (auto writer = convert::RtpWriter::make(track, options)) slot.writer = *std::move(writer);
    make_joiner(slot, track);
}

// Players of audio alone begin at any packet.
void InterleavedEncoder::make_joiner(Slot& slot, const media::Track& track) const {
    slot.joiner.reset();
    if (track.codec != media::Codec::kAac || !track.config() || !carries(media::Kind::kVideo)) return;
    slot.joiner = convert::AacJoiner::make(track.config()->payload, kPacketBytes - rtp::kFixedHeaderSize);
}

void InterleavedEncoder::set_tracks(const media::TrackSet& tracks) {
    for (Slot& slot : std::span(slots_).first(size_)) {
        const media::Track* track = tracks.find(slot.track.kind, slot.track.index);
        if (!track || track->codec != slot.track.codec || (slot.writer && track->revision == slot.revision)) continue;
        slot.revision = track->revision;
        if (!slot.writer) {
            make_writer(slot, tracks, *track);
        } else if (const media::Frame* config = track->config()) {
            (void)slot.writer->set_header(*config);  // malformed: the old one stays
            make_joiner(slot, *track);
        }
    }
}

InterleavedEncoder::Slot* InterleavedEncoder::slot_of(const media::Frame& frame) {
    for (Slot& slot : std::span(slots_).first(size_))
        if (slot.track.kind == frame.kind && slot.track.index == frame.track && slot.track.codec == frame.codec)
            return &slot;
    return nullptr;
}

uint32_t InterleavedEncoder::next_sequences() const {
    const auto of = [&](size_t i) {
        return i < size_ && slots_[i].writer ? uint32_t{slots_[i].writer->next_sequence()} : 0;
    };
    return of(0) << 16 | of(1);
}

size_t InterleavedEncoder::encoded_size(const media::Frame& frame) {
    if (frame.sequence_header || frame.kind == media::Kind::kData) return 0;
    Slot* slot = slot_of(frame);
    if (!slot || !slot->writer) return 0;
    buffer_.clear();
    packets_.clear();
    newest_ = std::max(newest_, frame.dts);
    // The first report is in the prefix.
    if (slot->reported == media::kNoTime) slot->reported = frame.dts;
    const media::Time reported = slot->reported;
    if (frame.dts - slot->reported >= kReportInterval) {
        slot->reported = frame.dts;
        append_report(*slot, frame.pts(), buffer_);
    }
    start_sequences_ = next_sequences();
    write(*slot, frame);
    if (!packets_.empty()) return buffer_.size();
    slot->reported = reported;
    return 0;
}

void InterleavedEncoder::write(Slot& slot, const media::Frame& frame) {
    if (slot.joiner && write_joined(slot, frame)) return;
    (void)slot.writer->write(frame, buffer_, packets_);  // a malformed one is skipped
}

// What waits goes first. False: the frame is to be sent alone behind it.
bool InterleavedEncoder::write_joined(Slot& slot, const media::Frame& frame) {
    joined_.clear();
    const bool joins = interval_ > media::Time(0) && slot.joiner->fits(frame);
    if (joins) {
        slot.joiner->push(frame, interval_ / kJoinedShare, joined_);
    } else {
        slot.joiner->flush(joined_);
    }
    for (const convert::JoinedAac& joined : joined_)
        slot.writer->write_payload(joined.first.pts(), joined.payload, buffer_, packets_);
    return joins;
}

void InterleavedEncoder::encode(const media::Frame&, uint8_t* out) { std::memcpy(out, buffer_.data(), buffer_.size()); }

// A compound of sender report and CNAME, on the track's second channel.
void InterleavedEncoder::append_report(const Slot& slot, media::Time time, base::SliceBuilder& out) {
    if (!has_clock_) clock_offset_us_ = base::wall_ms() * 1000 - media::to_us(newest_);
    has_clock_ = true;
    uint8_t bytes[convert::kInterleavedHeaderSize + kReportBytes];
    rtcp::Writer writer(std::span<uint8_t>(bytes).subspan(convert::kInterleavedHeaderSize));
    const uint64_t ntp = rtp::ntp_of_unix_us(clock_offset_us_ + media::to_us(time));
    writer.sender_report(slot.writer->sender_report(ntp, time));
    writer.cname(slot.ssrc, kCname);
    bytes[0] = '$';
    bytes[1] = static_cast<uint8_t>(slot.track.channel + 1);
    base::put_u16(bytes + 2, static_cast<uint16_t>(writer.size()));
    out.append(std::span<const uint8_t>(bytes).first(convert::kInterleavedHeaderSize + writer.size()));
}

void InterleavedEncoder::encode_prefix(const media::TrackSet&, media::Time start_dts, bool, base::SliceBuilder& out) {
    for (const Slot& slot : std::span(slots_).first(size_))
        if (slot.writer) append_report(slot, start_dts, out);
}

bool InterleavedEncoder::carries(media::Kind kind) const {
    return std::ranges::any_of(std::span(slots_).first(size_),
                               [&](const Slot& slot) { return slot.track.kind == kind; });
}

uint8_t InterleavedEncoder::first_track(media::Kind kind) const {
    uint8_t first = media::kMaxTracks;
    for (const Slot& slot : std::span(slots_).first(size_))
        if (slot.track.kind == kind) first = std::min(first, slot.track.index);
    return first == media::kMaxTracks ? 0 : first;
}

}  // namespace service::rtsp
