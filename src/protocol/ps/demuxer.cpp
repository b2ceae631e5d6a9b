#include "protocol/ps/demuxer.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/bytes.h"
#include "protocol/ps/packet.h"
#include "protocol/ps/stream_map.h"

namespace ps {
namespace {

constexpr uint32_t kNoCode = 0xffffffff;
constexpr uint32_t kPackCode = 0x00000100u | kPack;

}  // namespace

void Demuxer::feed(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
        size_t used = 0;
        if (skip_ > 0) {
            used = std::min(skip_, bytes.size());
            skip_ -= used;
        } else if (open_) {
            used = std::min(wanted_ - bytes_.size(), bytes.size());
            bytes_.append(bytes.first(used));
            if (bytes_.size() == wanted_) end_packet();
        } else {
            used = synced_ ? take_head(bytes) : find_pack(bytes);
        }
        bytes = bytes.subspan(used);
    }
}

size_t Demuxer::find_pack(std::span<const uint8_t> bytes) {
    for (size_t at = 0; at < bytes.size(); ++at) {
        code_ = code_ << 8 | bytes[at];
        ++counters_.skipped_bytes;
        if (code_ != kPackCode) continue;
        counters_.skipped_bytes -= kStartCodeSize;
        synced_ = true;
        head_.assign({0, 0, 1, kPack});
        return at + 1;
    }
    return bytes.size();
}

// The size of the head as far as it is known from what has come.
size_t Demuxer::wanted_head() const {
    if (head_.size() < kStartCodeSize) return kStartCodeSize;
    const uint8_t code = head_[3];
    if (code == kEnd) return kStartCodeSize;
    if (code == kPack) return kPackSize;
    if (head_.size() < kPrefixSize || code != kStreamMap) return kPrefixSize;
    return kPrefixSize + std::min<size_t>(base::get_u16(&head_[4]), kMaxMapLength);
}

size_t Demuxer::take_head(std::span<const uint8_t> bytes) {
    const size_t used = std::min(bytes.size(), wanted_head() - head_.size());
    head_.insert(head_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(used));
    if (head_.size() < kStartCodeSize) return used;
    if (head_.size() == kStartCodeSize) {
        // Zeros before a start code are stuffing.
        if (head_[0] == 0 && head_[1] == 0 && head_[2] == 0) {
            head_.erase(head_.begin());
            ++counters_.skipped_bytes;
            return used;
        }
        if (head_[0] || head_[1] || head_[2] != 1 || head_[3] < kEnd) {
            lose_sync();
            return used;
        }
    }
    if (head_.size() == wanted_head()) end_head();
    return used;
}

void Demuxer::end_head() {
    const uint8_t code = head_[3];
    if (code == kPack) {
        if (head_[4] >> 6 != 1) return lose_sync();
        ++counters_.packets;
        skip_ = head_[13] & 7u;
    } else if (code == kStreamMap) {
        const size_t length = base::get_u16(&head_[4]);
        if (length > kMaxMapLength) {
            ++counters_.bad_tables;
            return lose_sync();
        }
        take_map();
    } else if (code != kEnd) {
        return begin_packet(base::get_u16(&head_[4]));
    }
    head_.clear();
}

void Demuxer::begin_packet(size_t length) {
    if (!find(head_[3])) {
        skip_ = length;
        return head_.clear();
    }
    if (length == 0) {
        ++counters_.bad_pes;
        return lose_sync();
    }
    open_ = true;
    ++begun_;
    wanted_ = kPrefixSize + length;
    bytes_.reserve(wanted_);
    bytes_.append(head_);
    head_.clear();
}

// Comes with each keyframe, or each pack.
void Demuxer::take_map() {
    if (head_ == map_) return;
    auto map = read_stream_map(head_);
    if (!map) return void(++counters_.bad_tables);
    map_ = head_;
    // One of streams that are not read may be for a moment only.
    if (map->streams.empty() || *map == program_) return;
    std::vector<Stream> streams;
    for (const ts::ElementaryStream& info : map->streams) {
        const auto same = std::ranges::find(streams_, info, &Stream::info);
        streams.push_back(same != streams_.end() ? *same : Stream{.info = info});
    }
    streams_ = std::move(streams);
    program_ = *std::move(map);
    counters_.skipped_streams += program_.skipped;
    sink_.on_program(program_);
}

void Demuxer::end_packet() {
    open_ = false;
    Stream* stream = find(bytes_.data()[3]);
    const auto header = ts::read_pes_header(bytes_.bytes());
    if (!header || header->scrambled) {
        ++(header ? counters_.flagged : counters_.bad_pes);
        bytes_.clear();
        stream->lost = true;
        return;
    }
    ts::PesPacket packet;
    packet.stream = stream->info;
    const bool is_video = stream->info.kind() == media::Kind::kVideo;
    set_times(*header, *stream, packet);
    packet.may_continue = is_video;
    packet.after_loss = std::exchange(stream->lost, false);
    const size_t size = bytes_.size();
    packet.payload = bytes_.freeze().sub(header->size, size - header->size);
    sink_.on_pes(std::move(packet));
}

// Video that continues an access unit has no time. True: it begins one.
bool Demuxer::set_times(const ts::PesHeader& header, Stream& stream, ts::PesPacket& packet) {
    if (!header.pts) return false;
    const int64_t dts = times_.unwrap(*header.dts), pts = times_.unwrap(*header.pts);
    if (stream.info.kind() == media::Kind::kVideo) {
        if (std::exchange(stream.unit_open, true) && stream.unit_pts == pts) return false;
        stream.unit_pts = pts;
    }
    packet.pts = pts;
    packet.dts = std::abs(pts - dts) > ts::kMaxReordering ? pts : dts;
    return true;
}

void Demuxer::end_unit() {
    for (Stream& stream : streams_) stream.unit_open = false;
}

// Which access units are hit is not known: those that may be unfinished are.
void Demuxer::give_up() {
    const uint8_t open_id = std::exchange(open_, false) ? bytes_.data()[3] : uint8_t{0};
    for (Stream& stream : streams_) {
        ts::PesPacket packet;
        packet.stream = stream.info;
        packet.damaged = true;
        bool begins = false;
        // With a time of its own it is another access unit than the one before, which is whole then.
        if (stream.info.pid == open_id)
            if (const auto header = ts::read_pes_header(bytes_.bytes())) begins = set_times(*header, stream, packet);
        stream.lost = true;
        const bool was_open = std::exchange(stream.unit_open, false);
        if (begins || was_open || stream.info.pid == open_id) sink_.on_pes(std::move(packet));
    }
    bytes_ = base::SliceBuilder();
}

void Demuxer::lose_sync() {
    counters_.skipped_bytes += head_.size();
    // What was skipped may be the start of a pack's code.
    code_ = head_.size() == kStartCodeSize ? base::get_u32(head_.data()) : kNoCode;
    head_.clear();
    synced_ = false;
    give_up();
}

void Demuxer::on_gap() {
    restart();
    give_up();
}

void Demuxer::finish() {
    restart();
    if (open_) return give_up();
    end_unit();
}

void Demuxer::restart() {
    counters_.skipped_bytes += head_.size();
    head_.clear();
    skip_ = 0;
    code_ = kNoCode;
    synced_ = false;
}

Demuxer::Stream* Demuxer::find(uint8_t stream_id) {
    const auto stream = std::ranges::find(streams_, stream_id, [](const Stream& s) { return s.info.pid; });
    return stream == streams_.end() ? nullptr : &*stream;
}

}  // namespace ps
