#include "protocol/ts/conformance_testing.h"

#include <fmt/format.h>

#include "media/h264.h"
#include "media/h265.h"
#include "media/nalu.h"

namespace ts::testing {

template <class... Parts>
void Conformance::problem(const char* format, Parts... parts) {
    if (problems_.size() < 50)
        problems_.push_back(fmt::format("segment {}: ", segment_) + fmt::format(fmt::runtime(format), parts...));
}

std::string Conformance::text() const {
    std::string all;
    for (const std::string& problem : problems_) all += problem + "\n";
    return all;
}

void Conformance::segment(std::span<const uint8_t> bytes) {
    ++segment_;
    seen_video_ = false;
    mapped_ = {kPatPid, kPmtPid};
    for (const ElementaryStream& stream : demuxer_.program().streams) mapped_.insert(stream.pid);
    DemuxerCounters before = demuxer_.counters();
    check_start(bytes);
    demuxer_.feed(bytes);
    demuxer_.finish();
    check_pids(bytes);
    const DemuxerCounters& after = demuxer_.counters();
    auto same = [&](uint64_t DemuxerCounters::*member, const char* what) {
        if (after.*member != before.*member) problem("{} {}", after.*member - before.*member, what);
    };
    same(&DemuxerCounters::skipped_bytes, "bytes between packets");
    same(&DemuxerCounters::continuity_errors, "continuity errors");
    same(&DemuxerCounters::duplicates, "packets twice");
    same(&DemuxerCounters::flagged, "packets with an error flag, or scrambled");
    same(&DemuxerCounters::bad_tables, "broken tables");
    same(&DemuxerCounters::skipped_streams, "streams too many, or with the PID of another");
    same(&DemuxerCounters::bad_pes, "broken PES headers");
    if (after.packets - before.packets != bytes.size() / kPacketSize)
        problem("{} packets in {} bytes", after.packets - before.packets, bytes.size());
}

void Conformance::check_start(std::span<const uint8_t> bytes) {
    if (bytes.empty() || bytes.size() % kPacketSize != 0) return problem("{} bytes are no whole packets", bytes.size());
    auto starts_table = [&](size_t at, int pid) {
        return bytes.size() >= at + kPacketSize && (bytes[at + 1] & 0x40) &&
               ((bytes[at + 1] & 0x1f) << 8 | bytes[at + 2]) == pid;
    };
    if (!starts_table(0, kPatPid)) problem("it does not begin with the association table");
    if (!starts_table(kPacketSize, kPmtPid)) problem("its second packet is not the program map");
}

void Conformance::check_pids(std::span<const uint8_t> bytes) {
    std::set<uint16_t> strange;
    for (size_t at = 0; at + kPacketSize <= bytes.size(); at += kPacketSize) {
        const auto pid = static_cast<uint16_t>((bytes[at + 1] & 0x1f) << 8 | bytes[at + 2]);
        if (!mapped_.contains(pid)) strange.insert(pid);
    }
    for (uint16_t pid : strange) problem("PID {:#x} is not in the map", pid);
}

void Conformance::on_program(const ProgramMap& program) {
    ++programs;
    if (program.streams.empty()) problem("a program without streams");
    bool has_clock = false;
    for (const ElementaryStream& stream : program.streams) {
        if (stream.codec == media::Codec::kNone) problem("stream type {:#x} is unknown", stream.stream_type);
        has_clock |= stream.pid == program.pcr_pid;
        mapped_.insert(stream.pid);
    }
    if (!has_clock) problem("the PCR is on PID {:#x}, which is no stream's", program.pcr_pid);
}

void Conformance::on_clock(int64_t ticks, bool discontinuity) {
    ++clocks;
    if (clock_ && !discontinuity) {
        int64_t gap = ticks - *clock_;
        if (gap < 0) problem("the clock goes back by {} ticks", -gap);
        if (gap > options_.most_clock_gap_ms * (kTicksPerSecond / 1000))
            problem("no clock for {} ms", gap / (kTicksPerSecond / 1000));
    }
    clock_ = ticks;
}

void Conformance::on_pes(PesPacket packet) {
    bool video = media::codec_info(packet.stream.codec).kind == media::Kind::kVideo;
    ++(video ? video_frames : audio_frames);
    ++pes_packets[packet.stream.pid];
    if (packet.damaged) problem("a damaged PES packet of PID {}", packet.stream.pid);
    if (!packet.dts) return problem("no time in a PES packet of PID {}", packet.stream.pid);
    if (*packet.pts < *packet.dts) problem("PTS {} before DTS {}", *packet.pts, *packet.dts);
    if (clock_ && *packet.dts < *clock_) problem("DTS {} is later sent than its time, {}", *packet.dts, *clock_);
    auto last = last_dts_.find(packet.stream.pid);
    if (last != last_dts_.end()) {
        int64_t gap = *packet.dts - last->second;
        if (gap <= 0) problem("PID {}: DTS goes from {} to {}", packet.stream.pid, last->second, *packet.dts);
        if (gap > options_.most_gap_ms * (kTicksPerSecond / 1000))
            problem("PID {}: nothing for {} ms", packet.stream.pid, gap / (kTicksPerSecond / 1000));
    }
    last_dts_[packet.stream.pid] = *packet.dts;
    if (video) check_video(packet);
}

void Conformance::check_video(const PesPacket& packet) {
    bool hevc = packet.stream.codec == media::Codec::kHevc;
    bool delimiter = false, parameters = false, keyframe = false;
    media::AnnexBReader reader(packet.payload);
    for (auto unit = reader.next(); unit; unit = reader.next()) {
        uint8_t type = hevc ? media::h265::nalu_type(*unit) : media::h264::nalu_type(*unit);
        if (type == (hevc ? 35 : 9)) {
            if (delimiter || parameters || keyframe) problem("a delimiter inside an access unit");
            delimiter = true;
        }
        parameters |= type == (hevc ? 33 : 7);
        bool key = hevc ? type >= 16 && type <= 21 : type == 5;
        if (key && !parameters) problem("a keyframe without parameter sets");
        keyframe |= key;
    }
    if (!delimiter) problem("an access unit without its delimiter");
    if (keyframe && !packet.random_access) problem("a keyframe that is not marked");
    if (packet.stream.track != 0) return;
    if (!seen_video_ && options_.keyframe_first && !keyframe) problem("the first video frame is no keyframe");
    seen_video_ = true;
}

}  // namespace ts::testing
