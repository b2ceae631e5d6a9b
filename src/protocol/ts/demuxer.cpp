#include "protocol/ts/demuxer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "protocol/ts/program.h"
#include "protocol/ts/program_reader.h"

namespace ts {
namespace {

// What a stream's next PES packet may need at once: as much as its last one had, within this.
constexpr size_t kMaxReserved = 256 * 1024;
// A PES packet of audio has at most this share of the limit.
constexpr size_t kAudioShare = 8;

// Differs for two packets of a PID, but for rare cases: made of its end, and of the bytes that have the PTS where a PES
// packet begins.
uint64_t mark_of(std::span<const uint8_t> payload) {
    constexpr size_t kTimes = 8;
    uint64_t head = 0, tail = 0;
    if (payload.size() < kTimes + sizeof head) {
        std::memcpy(&head, payload.data(), std::min(payload.size(), sizeof head));
        return head + payload.size();
    }
    std::memcpy(&head, payload.data() + kTimes, sizeof head);
    std::memcpy(&tail, payload.data() + payload.size() - sizeof tail, sizeof tail);
    return head * 31 + tail + payload.size();
}

}  // namespace

bool ProgramMap::has_known_stream() const {
    return std::ranges::any_of(streams, [](const auto& stream) { return stream.codec != media::Codec::kNone; });
}

Demuxer::Demuxer(DemuxerSink& sink, size_t limit_of_pes) : sink_(sink), limit_of_pes_(limit_of_pes) {
    static_assert(kPmtTableId == kPmtTable && kPatTable == 0);
}

void Demuxer::feed(std::span<const uint8_t> bytes) {
    // The buffered rest is completed to a packet, then the input is read in place.
    while (!rest_.empty() && !bytes.empty()) {
        size_t take = std::min(bytes.size(), wanted_bytes() - std::min(rest_.size(), wanted_bytes()));
        rest_.insert(rest_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(take));
        bytes = bytes.subspan(take);
        size_t used = take_packets(rest_);
        if (take == 0 && used == 0) break;
        rest_.erase(rest_.begin(), rest_.begin() + static_cast<ptrdiff_t>(used));
    }
    if (bytes.empty()) return;
    size_t used = take_packets(bytes);
    rest_.assign(bytes.begin() + static_cast<ptrdiff_t>(used), bytes.end());
}

void Demuxer::on_gap() {
    rest_.clear();
    for (Stream& stream : streams_) stream.suspect = true;
    association_.drop();
    for (MapPid& map : map_pids_) map.sections.drop();
}

// When locked, the position of the next packet is known from the previous one; else it is found by two sync bytes at
// the distance of a packet. Returns the number of consumed bytes.
size_t Demuxer::take_packets(std::span<const uint8_t> bytes) {
    size_t at = 0;
    while (bytes.size() - at >= wanted_bytes()) {
        if (bytes[at] == kSyncByte && (locked_ || bytes[at + kPacketSize] == kSyncByte)) {
            locked_ = true;
            take_packet(bytes.subspan(at, kPacketSize));
            at += kPacketSize;
        } else {
            locked_ = false;
            ++at;
            ++counters_.skipped_bytes;
        }
    }
    return at;
}

void Demuxer::take_packet(std::span<const uint8_t> bytes) {
    ++counters_.packets;
    Packet packet;
    packet.pid = static_cast<uint16_t>((bytes[1] & 0x1f) << 8 | bytes[2]);
    if (packet.pid == kNullPid) return;
    auto stream = std::ranges::find(streams_, packet.pid, [](const Stream& s) { return s.info.pid; });
    auto map = std::ranges::find(map_pids_, packet.pid, &MapPid::pid);
    const bool is_clock = packet.pid == program_.pcr_pid;
    if (stream == streams_.end() && map == map_pids_.end() && packet.pid != kPatPid && !is_clock) return;
    if (bytes[1] & 0x80 || bytes[3] & 0xc0) {
        ++counters_.flagged;
        return;
    }
    packet.start = bytes[1] & 0x40;
    packet.cc = bytes[3] & 15;
    size_t at = 4;
    if (bytes[3] & 0x20) {
        size_t size = bytes[4];
        if (size > kPayloadSize - 1 || !read_adaptation(bytes.subspan(5, size), packet)) {
            ++counters_.flagged;
            return;
        }
        at += 1 + size;
    }
    if (bytes[3] & 0x10) packet.payload = bytes.subspan(at);
    if (packet.payload.empty()) return;
    if (packet.pid == kPatPid) return take_association_packet(packet);
    if (map != map_pids_.end()) return take_map_packet(packet, *map);
    if (stream != streams_.end()) take_stream_packet(packet, *stream);
}

bool Demuxer::read_adaptation(std::span<const uint8_t> field, Packet& packet) {
    if (field.empty()) return true;
    packet.flags = field[0];
    if (!(field[0] & kHasPcr)) return true;
    if (field.size() < 7) return false;
    if (packet.pid != program_.pcr_pid) return true;
    uint64_t ticks = uint64_t{field[1]} << 25 | uint64_t{field[2]} << 17 | uint64_t{field[3]} << 9 |
                     uint64_t{field[4]} << 1 | field[5] >> 7;
    sink_.on_clock(times_.unwrap(ticks), packet.flags & kDiscontinuity);
    return true;
}

// A packet may be sent twice, not three times. One with the same number and other bytes is of a sender that has started
// again.
Demuxer::Step Demuxer::check_continuity(Continuity& continuity, const Packet& packet) {
    const int last = std::exchange(continuity.last, packet.cc);
    const uint64_t mark = mark_of(packet.payload);
    const bool is_same = std::exchange(continuity.mark, mark) == mark;
    if (last < 0 || ((last + 1) & 15) == packet.cc || packet.flags & kDiscontinuity) {
        continuity.duplicated = false;
        return Step::kNext;
    }
    if (last == packet.cc && is_same && !continuity.duplicated) {
        continuity.duplicated = true;
        ++counters_.duplicates;
        return Step::kDuplicate;
    }
    continuity.duplicated = false;
    ++counters_.continuity_errors;
    return Step::kGap;
}

void Demuxer::take_association_packet(const Packet& packet) {
    const Step step = check_continuity(association_continuity_, packet);
    if (step == Step::kDuplicate) return;
    if (step == Step::kGap) association_.drop();
    counters_.bad_tables +=
        association_.feed(packet.payload, packet.start, [this](auto section) { return take_association(section); });
}

void Demuxer::take_map_packet(const Packet& packet, MapPid& map) {
    const Step step = check_continuity(map.continuity, packet);
    if (step == Step::kDuplicate) return;
    if (step == Step::kGap) map.sections.drop();
    counters_.bad_tables += map.sections.feed(packet.payload, packet.start,
                                              [this, pid = map.pid](auto section) { return take_map(section, pid); });
    // Until one is chosen, it counts how often a map comes.
    if (!followed_) map.sections.forget();
}

bool Demuxer::take_association(std::span<const uint8_t> section) {
    // Further sections have further programs: what is followed is one of the first.
    if (section[6] != 0) return true;
    const auto listed = read_association(section, kMaxPrograms);
    if (!listed) return false;
    std::vector<Program> programs;
    std::vector<MapPid> map_pids;
    for (const AssociatedProgram& entry : *listed) {
        auto known = std::ranges::find_if(
            programs_, [&](const Program& p) { return p.number == entry.number && p.map_pid == entry.map_pid; });
        programs.push_back(known != programs_.end() ? std::move(*known) : Program{entry.number, entry.map_pid});
        if (std::ranges::find(map_pids, entry.map_pid, &MapPid::pid) != map_pids.end()) continue;
        auto same = std::ranges::find(map_pids_, entry.map_pid, &MapPid::pid);
        if (same != map_pids_.end()) {
            map_pids.push_back(std::move(*same));
        } else {
            map_pids.emplace_back().pid = entry.map_pid;
        }
    }
    programs_ = std::move(programs);
    map_pids_ = std::move(map_pids);
    choose_program();
    return true;
}

bool Demuxer::take_map(std::span<const uint8_t> section, uint16_t pid) {
    auto map = read_program_map(section, kMaxStreams);
    if (!map) return false;
    auto program =
        std::ranges::find_if(programs_, [&](const Program& p) { return p.number == map->number && p.map_pid == pid; });
    if (program == programs_.end()) return true;
    program->maps = std::min(program->maps + 1, 2u);
    program->map = *std::move(map);
    choose_program();
    return true;
}

// The first one in the table with a known stream. Where the maps of those before it have not come, it is waited for
// them until its own comes again.
void Demuxer::choose_program() {
    auto chosen = followed_ ? std::ranges::find(programs_, *followed_, &Program::number) : programs_.end();
    if (chosen != programs_.end() && !chosen->map.has_known_stream()) chosen = programs_.end();
    bool all_known = true;
    for (auto p = programs_.begin(); p != programs_.end() && chosen == programs_.end(); ++p) {
        if (p->map.has_known_stream() && (all_known || p->maps > 1)) chosen = p;
        all_known &= p->maps > 0;
    }
    if (chosen == programs_.end()) {
        if (followed_) follow({});
        followed_.reset();
        return;
    }
    followed_ = chosen->number;
    if (chosen->map != program_) follow(chosen->map);
}

// Streams that stay go on, with their unfinished packets.
void Demuxer::follow(const ProgramMap& map) {
    std::vector<Stream> streams;
    for (const ElementaryStream& info : map.streams) {
        if (info.codec == media::Codec::kNone) continue;
        auto same = std::ranges::find(streams_, info, &Stream::info);
        if (same != streams_.end()) {
            streams.push_back(std::move(*same));
            same->open = false;
            same->info = {};
        } else {
            streams.emplace_back().info = info;
        }
    }
    end_all_pes();
    streams_ = std::move(streams);
    open_bytes_ = 0;
    for (const Stream& stream : streams_) open_bytes_ += stream.bytes.size();
    program_ = map;
    counters_.skipped_streams += program_.skipped;
    sink_.on_program(program_);
}

void Demuxer::take_stream_packet(const Packet& packet, Stream& stream) {
    const Step step = check_continuity(stream.continuity, packet);
    if (step == Step::kDuplicate) return;
    // A gap before a packet that begins one concerns the one before: its end is missing.
    const bool lost = step == Step::kGap || (std::exchange(stream.suspect, false) && !packet.start);
    if (lost || packet.flags & kDiscontinuity) stream.lost = true;
    if (lost && stream.open) stream.damaged = true;
    if (packet.start) begin_pes(packet, stream);
    if (stream.open) take_pes_bytes(packet.payload, stream);
}

void Demuxer::begin_pes(const Packet& packet, Stream& stream) {
    end_pes(stream);
    stream.open = true;
    ++stream.begun;
    stream.random_access = packet.flags & kRandomAccess;
    stream.damaged = false;
    stream.after_loss = std::exchange(stream.lost, false);
    stream.wanted = 0;
}

void Demuxer::take_pes_bytes(std::span<const uint8_t> bytes, Stream& stream) {
    const size_t size = stream.bytes.size() + bytes.size();
    if (size > limit(stream) || open_bytes_ + bytes.size() > 2 * limit_of_pes_) {
        ++counters_.too_long;
        stream.damaged = stream.lost = true;
        return end_pes(stream);
    }
    if (stream.bytes.size() == 0) stream.bytes.reserve(std::min(stream.last_size + kPacketSize, kMaxReserved));
    stream.bytes.append(bytes);
    open_bytes_ += bytes.size();
    if (stream.wanted == 0 && size >= kPesPrefixSize) {
        const uint8_t* p = stream.bytes.data();
        if (p[0] || p[1] || p[2] != 1) {
            ++counters_.bad_pes;
            stream.lost = true;
            return drop_pes(stream);
        }
        const auto length = static_cast<size_t>(p[4] << 8 | p[5]);
        stream.wanted = length ? length + kPesPrefixSize : SIZE_MAX;
    }
    if (stream.wanted && size >= stream.wanted) end_pes(stream);
}

void Demuxer::end_pes(Stream& stream) {
    if (!stream.open) return;
    stream.open = false;
    open_bytes_ -= stream.bytes.size();
    const bool has_length = stream.wanted != 0 && stream.wanted != SIZE_MAX;
    const bool cut = stream.wanted == 0 || (has_length && stream.bytes.size() < stream.wanted);
    auto bytes = stream.bytes.bytes();
    if (has_length && bytes.size() > stream.wanted) bytes = bytes.first(stream.wanted);
    auto header = read_pes_header(bytes);
    stream.last_size = bytes.size();
    if (!header || header->scrambled) {
        ++(header ? counters_.flagged : counters_.bad_pes);
        stream.bytes.clear();
        stream.lost = true;
        return;
    }
    PesPacket packet;
    packet.stream = stream.info;
    if (header->dts) {
        packet.dts = times_.unwrap(*header->dts);
        packet.pts = times_.unwrap(*header->pts);
        if (std::abs(*packet.pts - *packet.dts) > kMaxReordering) packet.dts = packet.pts;
    }
    packet.random_access = stream.random_access;
    packet.damaged = stream.damaged || cut;
    packet.after_loss = stream.after_loss;
    packet.may_continue = has_length && !cut && stream.wanted - kPesPrefixSize > kLongPesLength;
    const size_t size = bytes.size();
    packet.payload = stream.bytes.freeze().sub(header->size, size - header->size);
    stream.lost |= packet.damaged;
    stream.damaged = false;
    sink_.on_pes(std::move(packet));
}

void Demuxer::drop_pes(Stream& stream) {
    stream.open = false;
    open_bytes_ -= std::min(open_bytes_, stream.bytes.size());
    stream.bytes = base::SliceBuilder();
}

void Demuxer::finish() {
    // A single packet has no successor that would confirm the packet boundary.
    if (!locked_ && rest_.size() == kPacketSize && rest_[0] == kSyncByte) {
        take_packet(std::vector(std::exchange(rest_, {})));
    }
    end_all_pes();
}

void Demuxer::end_all_pes() {
    for (Stream& stream : streams_) end_pes(stream);
}

void Demuxer::drop_unfinished() {
    for (Stream& stream : streams_) {
        if (!stream.open) continue;
        drop_pes(stream);
        stream.lost = true;
    }
}

size_t Demuxer::limit(const Stream& stream) const {
    return stream.info.kind() == media::Kind::kVideo ? limit_of_pes_ : limit_of_pes_ / kAudioShare;
}

size_t Demuxer::memory() const {
    size_t bytes = 0;
    for (const Stream& stream : streams_)
        if (stream.open) bytes += stream.bytes.capacity();
    return bytes;
}

void Demuxer::list_unfinished(std::vector<uint64_t>& packets) const {
    for (size_t i = 0; i < streams_.size(); ++i)
        if (streams_[i].open) packets.push_back(uint64_t{i} << 48 | (streams_[i].begun & 0xffff'ffff'ffff));
}

}  // namespace ts
