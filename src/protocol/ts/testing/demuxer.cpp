#include "protocol/ts/testing/demuxer.h"

#include <algorithm>
#include <cstring>

#include "protocol/ts/crc32.h"
#include "protocol/ts/program.h"
#include "protocol/ts/testing/program_reader.h"

namespace ts {
namespace {

constexpr size_t kMaxSection = 1024;
constexpr size_t kMaxPids = 64;

struct PesHeader {
    size_t size = 0;
    std::optional<uint64_t> pts, dts;
};

uint64_t read_time_stamp(const uint8_t* p) {
    return uint64_t{p[0] & 0x0eu} << 29 | uint64_t{p[1]} << 22 | uint64_t{p[2] & 0xfeu} << 14 | uint64_t{p[3]} << 7 |
           p[4] >> 1;
}

// Section 2.4.3.6; nothing when the header is malformed.
std::optional<PesHeader> read_pes_header(std::span<const uint8_t> pes) {
    if (pes.size() < 9 || pes[0] || pes[1] || pes[2] != 1 || pes[6] >> 6 != 2) return std::nullopt;
    PesHeader header;
    header.size = 9u + pes[8];
    if (header.size > pes.size()) return std::nullopt;
    if (pes[7] & 0x80) {
        if (pes[8] < 5) return std::nullopt;
        header.pts = header.dts = read_time_stamp(&pes[9]);
        if (pes[7] & 0x40) {
            if (pes[8] < 10) return std::nullopt;
            header.dts = read_time_stamp(&pes[14]);
        }
    }
    return header;
}

}  // namespace

Demuxer::Demuxer(DemuxerSink& sink, size_t limit_of_pes) : sink_(sink), limit_of_pes_(limit_of_pes) {}

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
    packet.start = bytes[1] & 0x40;
    if (packet.pid == kNullPid) return;
    if (bytes[1] & 0x80 || bytes[3] & 0xc0) {
        ++counters_.flagged;
        return;
    }
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
    if (packet.payload.empty() || !check_continuity(packet, bytes[3] & 15)) return;
    if (packet.pid == kPatPid) return take_section_bytes(packet, association_, kPatTable);
    if (packet.pid == map_pid_) return take_section_bytes(packet, map_, kPmtTable);
    auto stream = streams_.find(packet.pid);
    if (stream != streams_.end()) take_pes_bytes(packet, stream->second);
}

bool Demuxer::read_adaptation(std::span<const uint8_t> field, Packet& packet) {
    if (field.empty()) return true;
    packet.flags = field[0];
    if (!(field[0] & kHasPcr)) return true;
    if (field.size() < 7) return false;
    if (packet.pid != program_.pcr_pid || !has_program_) return true;
    uint64_t ticks = uint64_t{field[1]} << 25 | uint64_t{field[2]} << 17 | uint64_t{field[3]} << 9 |
                     uint64_t{field[4]} << 1 | field[5] >> 7;
    sink_.on_clock(unwrap(ticks), packet.flags & kDiscontinuity);
    return true;
}

// False: it repeats the previous packet.
bool Demuxer::check_continuity(const Packet& packet, uint8_t cc) {
    if (pids_.size() >= kMaxPids && !pids_.contains(packet.pid)) return true;
    Pid& pid = pids_[packet.pid];
    bool first = pid.cc < 0, same = pid.cc == cc, next = ((pid.cc + 1) & 15) == cc;
    pid.cc = cc;
    if (first || next || packet.flags & kDiscontinuity) {
        pid.duplicated = false;
        return true;
    }
    if (same && !pid.duplicated) {
        pid.duplicated = true;
        ++counters_.duplicates;
        return false;
    }
    ++counters_.continuity_errors;
    if (packet.pid == kPatPid) association_.open = false;
    if (packet.pid == map_pid_) map_.open = false;
    if (auto stream = streams_.find(packet.pid); stream != streams_.end()) stream->second.damaged = true;
    return true;
}

void Demuxer::take_section_bytes(const Packet& packet, Section& section, uint8_t table) {
    auto bytes = packet.payload;
    if (!packet.start) return feed_section(bytes, section, table);
    size_t pointer = bytes[0];
    if (pointer >= bytes.size()) {
        ++counters_.bad_tables;
        section.open = false;
        return;
    }
    if (section.open) feed_section(bytes.subspan(1, pointer), section, table);
    section.open = true;
    section.bytes.clear();
    feed_section(bytes.subspan(1 + pointer), section, table);
}

void Demuxer::feed_section(std::span<const uint8_t> bytes, Section& section, uint8_t table) {
    if (!section.open) return;
    section.bytes.insert(section.bytes.end(), bytes.begin(), bytes.end());
    while (section.bytes.size() >= 3 && section.bytes[0] != 0xff) {
        size_t size = 3u + ((section.bytes[1] & 0x0f) << 8 | section.bytes[2]);
        if (size > kMaxSection) {
            ++counters_.bad_tables;
            section.open = false;
            return;
        }
        if (section.bytes.size() < size) return;
        std::span<const uint8_t> whole(section.bytes.data(), size);
        if (whole[0] == table) {
            bool good =
                size >= 12 && crc32(whole) == 0 && (table == kPatTable ? take_association(whole) : take_map(whole));
            if (!good) ++counters_.bad_tables;
        }
        section.bytes.erase(section.bytes.begin(), section.bytes.begin() + static_cast<ptrdiff_t>(size));
    }
    // What follows is stuffing, or the first bytes of a header.
    if (!section.bytes.empty() && section.bytes[0] == 0xff) section.open = false;
}

bool Demuxer::take_association(std::span<const uint8_t> section) {
    auto pid = read_association(section);
    if (!pid) return false;
    if (*pid == map_pid_) return true;
    map_pid_ = *pid;
    map_.open = false;
    has_program_ = false;
    return true;
}

bool Demuxer::take_map(std::span<const uint8_t> section) {
    auto map = read_program_map(section, kMaxStreams);
    if (!map) return false;
    if (has_program_ && map->version == program_.version && map->number == program_.number &&
        map->streams == program_.streams && map->pcr_pid == program_.pcr_pid)
        return true;
    end_all_pes();
    program_ = std::move(*map);
    has_program_ = true;
    counters_.skipped_streams += program_.skipped;
    std::map<uint16_t, Stream> streams;
    for (const ProgramStream& info : program_.streams) streams[info.pid].info = info;
    streams_ = std::move(streams);
    sink_.on_program(program_);
    return true;
}

void Demuxer::take_pes_bytes(const Packet& packet, Stream& stream) {
    if (packet.start) {
        // A gap before this packet concerns the previous PES packet: its end is missing.
        end_pes(stream);
        stream.open = true;
        stream.random_access = packet.flags & kRandomAccess;
        stream.damaged = false;
        stream.wanted = 0;
    }
    if (!stream.open) return;
    size_t room = limit_of_pes_ - std::min(limit_of_pes_, stream.bytes.size());
    if (packet.payload.size() > room) {
        ++counters_.too_long;
        stream.damaged = true;
        return end_pes(stream);
    }
    stream.bytes.append(packet.payload);
    if (stream.wanted == 0 && stream.bytes.size() >= 6) {
        const uint8_t* p = stream.bytes.data();
        size_t length = static_cast<size_t>(p[4] << 8 | p[5]);
        stream.wanted = length ? length + 6 : SIZE_MAX;
    }
    if (stream.wanted && stream.bytes.size() >= stream.wanted) end_pes(stream);
}

void Demuxer::end_pes(Stream& stream) {
    if (!stream.open) return;
    stream.open = false;
    bool cut = stream.wanted != SIZE_MAX && stream.bytes.size() < stream.wanted;
    auto bytes = stream.bytes.bytes();
    if (stream.wanted && bytes.size() > stream.wanted) bytes = bytes.first(stream.wanted);
    auto header = read_pes_header(bytes);
    if (!header) {
        ++counters_.bad_pes;
        stream.bytes.clear();
        return;
    }
    PesPacket packet;
    packet.stream = stream.info;
    if (header->dts) {
        packet.dts = unwrap(*header->dts);
        packet.pts = unwrap(*header->pts);
    }
    packet.random_access = stream.random_access;
    packet.damaged = stream.damaged || cut;
    size_t size = bytes.size();
    packet.payload = stream.bytes.freeze().sub(header->size, size - header->size);
    stream.damaged = false;
    sink_.on_pes(std::move(packet));
}

void Demuxer::finish() {
    // A single packet has no successor that would confirm the packet boundary.
    if (!locked_ && rest_.size() == kPacketSize && rest_[0] == kSyncByte) {
        take_packet(std::vector(std::exchange(rest_, {})));
    }
    end_all_pes();
}

void Demuxer::end_all_pes() {
    for (auto& [pid, stream] : streams_) end_pes(stream);
}

// The time nearest to the last one that has these 33 bits.
int64_t Demuxer::unwrap(uint64_t ticks) {
    if (!last_ticks_) return *(last_ticks_ = static_cast<int64_t>(ticks));
    uint64_t forward = (ticks - static_cast<uint64_t>(*last_ticks_)) & kTickMask;
    auto distance = static_cast<int64_t>(forward);
    if (forward > kTickMask / 2) distance -= static_cast<int64_t>(kTickMask) + 1;
    return *(last_ticks_ = *last_ticks_ + distance);
}

}  // namespace ts
