#include "load/rtp_script.h"

#include <algorithm>
#include <optional>

#include "base/bytes.h"
#include "protocol/flv/body.h"
#include "protocol/rtcp/writer.h"
#include "protocol/rtp/ntp.h"
#include "protocol/rtp/packet.h"
#include "protocol/sdp/session/write.h"

namespace load {

namespace {

constexpr uint32_t kFirstSsrc = 0x62656e00;
constexpr size_t kMaxPacket = 1400;
constexpr size_t kReportBytes = 64;

// Sequence headers come before the frames: all tracks are known then.
base::Result<media::TrackSet> tracks_of(const Script& script) {
    flv::BodyParser parser;
    media::TrackSet tracks;
    for (uint32_t i = 0; i < script.messages().size(); ++i) {
        const auto& message = script.messages()[i];
        auto parsed = TRY(parser.parse(message.type, base::Slice::copy(script.body(i)), message.timestamp_ms));
        if (parsed.frame && tracks.changes_state(*parsed.frame)) tracks.update(*parsed.frame);
    }
    return tracks;
}

}  // namespace

struct RtpScript::Builder {
    explicit Builder(RtpScript& to) : out(to) {}

    base::Result<void> add_tracks(const media::TrackSet& set);
    base::Result<void> add(const media::Frame& frame, Message& message);

    RtpScript& out;
    std::vector<sdp::SessionTrack> described;
    std::vector<convert::RtpWriter> writers;
    std::vector<convert::WrittenPacket> written;
};

base::Result<void> RtpScript::Builder::add_tracks(const media::TrackSet& set) {
    described = sdp::session_tracks(set);
    if (described.empty()) return base::fail(base::Code::kConfig, "the stream has no track that RTP carries");
    for (size_t i = 0; i < described.size(); ++i) {
        convert::RtpWriterOptions options;
        options.format = described[i].format;
        options.payload_type = described[i].payload_type;
        options.ssrc = kFirstSsrc + static_cast<uint32_t>(i);
        options.max_packet = kMaxPacket;
        options.channel = static_cast<uint8_t>(2 * i);
        writers.push_back(TRY(convert::RtpWriter::make(*set.find(described[i].kind, described[i].index), options)));
        out.tracks_.push_back({described[i].format.clock_rate});
    }
    sdp::SessionText text;
    text.range = "npt=0-";
    out.description_ = sdp::write_session(text, described);
    return {};
}

base::Result<void> RtpScript::Builder::add(const media::Frame& frame, Message& message) {
    const auto same = std::ranges::find_if(described, [&](const sdp::SessionTrack& track) {
        return track.kind == frame.kind && track.index == frame.track && track.format.codec == frame.codec;
    });
    if (same == described.end()) return {};
    const auto index = static_cast<size_t>(same - described.begin());
    if (frame.sequence_header) return writers[index].set_header(frame);
    Track& track = out.tracks_[index];
    base::SliceBuilder buffer;
    written.clear();
    TRY(writers[index].write(frame, buffer, written));
    if (written.empty()) return {};
    message.track = static_cast<uint8_t>(index);
    message.reports = track.packets == 0;
    message.before = track.packets;
    message.octets_before = track.octets;
    message.time_us = media::to_us(frame.pts());
    message.packets = static_cast<uint32_t>(written.size());
    message.size = static_cast<uint32_t>(buffer.size());
    for (const convert::WrittenPacket& packet : written) {
        const auto at = static_cast<uint32_t>(packet.begin + convert::kInterleavedHeaderSize);
        const uint8_t* header = buffer.data() + at;
        out.packets_.push_back({message.offset + at, rtp::get_u32(header + 4), rtp::get_u16(header + 2)});
        track.octets += packet.end - at - rtp::kFixedHeaderSize;
        ++track.packets;
    }
    const auto bytes = buffer.bytes();
    out.bytes_.insert(out.bytes_.end(), bytes.begin(), bytes.end());
    return {};
}

base::Result<RtpScript> RtpScript::make(const Script& script) {
    RtpScript out;
    out.round_ms_ = script.round_ms();
    Builder builder(out);
    TRY(builder.add_tracks(TRY(tracks_of(script))));
    flv::BodyParser parser;
    for (uint32_t i = 0; i < script.messages().size(); ++i) {
        const auto& from = script.messages()[i];
        Message message;
        message.offset = static_cast<uint32_t>(out.bytes_.size());
        message.first_packet = static_cast<uint32_t>(out.packets_.size());
        auto parsed = TRY(parser.parse(from.type, base::Slice::copy(script.body(i)), from.timestamp_ms));
        if (parsed.frame) TRY(builder.add(*parsed.frame, message), fmt::format("message {}", i));
        out.messages_.push_back(message);
    }
    if (out.packets_.empty()) return base::fail(base::Code::kConfig, "the stream has no frame that RTP carries");
    return out;
}

std::span<const uint8_t> RtpScript::encode(uint32_t index, uint32_t round, int64_t start_us) {
    const Message& message = messages_[index];
    const Track& track = tracks_[message.track];
    const auto passed = static_cast<uint32_t>(uint64_t{round} * round_ms_ * track.clock_rate / 1000);
    for (uint32_t i = 0; i < message.packets; ++i) {
        const Packet& packet = packets_[message.first_packet + i];
        rtp::set_sequence(&bytes_[packet.offset], static_cast<uint16_t>(packet.sequence + round * track.packets));
        rtp::set_timestamp(&bytes_[packet.offset], packet.timestamp + passed);
    }
    const auto frames = std::span<const uint8_t>(bytes_).subspan(message.offset, message.size);
    if (!message.reports) return frames;
    add_report(message, round, start_us);
    reported_.insert(reported_.end(), frames.begin(), frames.end());
    return reported_;
}

void RtpScript::add_report(const Message& message, uint32_t round, int64_t start_us) {
    const Track& track = tracks_[message.track];
    const int64_t time_us = start_us + message.time_us + int64_t{round} * round_ms_ * 1000;
    const uint8_t* first = &bytes_[packets_[message.first_packet].offset];
    reported_.resize(convert::kInterleavedHeaderSize + kReportBytes);
    rtcp::Writer writer(std::span<uint8_t>(reported_).subspan(convert::kInterleavedHeaderSize));
    const uint32_t ssrc = kFirstSsrc + message.track;
    writer.sender_report({ssrc, rtp::ntp_of_unix_us(time_us), rtp::get_u32(first + 4),
                          message.before + round * track.packets,
                          static_cast<uint32_t>(message.octets_before + round * track.octets)});
    writer.cname(ssrc, "bench");
    reported_[0] = '$';
    reported_[1] = static_cast<uint8_t>(2 * message.track + 1);
    base::put_u16(&reported_[2], static_cast<uint32_t>(writer.size()));
    reported_.resize(convert::kInterleavedHeaderSize + writer.size());
}

}  // namespace load
