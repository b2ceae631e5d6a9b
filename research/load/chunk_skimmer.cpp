#include "load/chunk_skimmer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "protocol/rtmp/message.h"

namespace load {

base::Result<void> ChunkSkimmer::feed(std::span<const uint8_t> bytes, ControlSink& sink) {
    while (!bytes.empty()) {
        if (in_chunk_) {
            TRY(payload(bytes, sink));
            continue;
        }
        if (carried_ == 0) {
            size_t used = TRY(header(bytes));
            if (used) {
                bytes = bytes.subspan(used);
                if (chunk_left_ == 0) TRY(end_message(streams_[current_], sink));
                continue;
            }
        }
        // A header that came in pieces: byte by byte until it is whole.
        carry_[carried_++] = bytes.front();
        bytes = bytes.subspan(1);
        size_t used = TRY(header(std::span<const uint8_t>(carry_.data(), carried_)));
        if (used == 0) continue;
        // Looking for a repeated timestamp may have taken bytes of the payload.
        const auto carry = carry_;
        auto rest = std::span<const uint8_t>(carry).subspan(used, std::exchange(carried_, 0) - used);
        if (chunk_left_ == 0) TRY(end_message(streams_[current_], sink));
        TRY(feed(rest, sink));
    }
    return {};
}

base::Result<size_t> ChunkSkimmer::header(std::span<const uint8_t> bytes) {
    base::ByteReader r(bytes);
    uint8_t first = r.u8();
    int format = first >> 6;
    uint32_t csid = first & 0x3f;
    if (csid == 0)
        csid = 64 + r.u8();
    else if (csid == 1)
        csid = 64 + r.u8() + r.u8() * 256u;
    constexpr size_t kFormatBytes[] = {11, 7, 3, 0};
    if (!r.ok() || r.left() < kFormatBytes[format]) return 0;
    ChunkStream& known = *TRY(find(csid, format == 0));
    uint32_t field = known.field, size = known.size;
    uint8_t type = known.type;
    bool extended = known.extended;
    if (format <= 2) {
        field = r.u24();
        extended = field == 0xffffff;
    }
    if (format <= 1) {
        size = r.u24();
        type = r.u8();
    }
    if (format == 0) r.skip(4);
    if (extended) {
        if (r.left() < 4) return 0;
        // In a type 3 chunk it is there or not: when it is, it repeats what is known.
        if (format < 3)
            field = r.u32();
        else if (base::ByteReader(r.rest()).u32() == known.field)
            r.skip(4);
    }
    if (format < 3 && known.seen) return base::fail(base::Code::kProtocol, "a new message within an unfinished one");
    bool begins = known.seen == 0;
    known.field = field;
    known.size = size;
    known.type = type;
    known.extended = extended;
    if (begins) {
        known.timestamp = format == 0 ? field : known.timestamp + field;
        TRY(begin_message(known));
    }
    current_ = static_cast<uint32_t>(&known - streams_.data());
    chunk_left_ = std::min(chunk_size_, known.size - known.seen);
    in_chunk_ = chunk_left_ > 0;
    return bytes.size() - r.left();
}

base::Result<ChunkSkimmer::ChunkStream*> ChunkSkimmer::find(uint32_t csid, bool may_make) {
    for (auto& stream : streams_) {
        if (stream.csid == csid) return &stream;
    }
    if (!may_make)
        return base::fail(base::Code::kProtocol, fmt::format("chunk stream {} begins without a full header", csid));
    if (streams_.size() >= kMaxChunkStreams) return base::fail(base::Code::kLimit, "too many chunk streams");
    streams_.push_back({});
    streams_.back().csid = csid;
    return &streams_.back();
}

base::Result<void> ChunkSkimmer::begin_message(ChunkStream& stream) {
    switch (stream.type) {
        case 1:
        case 2:
        case 3:
        case 4:
        case 5:
        case 6:
        case 8:
        case 9:
        case 15:
        case 17:
        case 18:
        case 20:
        case 22:
            break;
        default:
            return base::fail(base::Code::kProtocol, fmt::format("a message of type {}", stream.type));
    }
    if (!stream.skipped() && stream.size > kMaxCollected) {
        return base::fail(base::Code::kLimit,
                          fmt::format("a message of type {} and {} bytes", stream.type, stream.size));
    }
    return {};
}

base::Result<void> ChunkSkimmer::payload(std::span<const uint8_t>& bytes, ControlSink& sink) {
    ChunkStream& stream = streams_[current_];
    auto n = static_cast<uint32_t>(std::min<size_t>(chunk_left_, bytes.size()));
    if (stream.skipped()) {
        if (stream.seen < kHeadBytes) {
            std::memcpy(stream.head.data() + stream.seen, bytes.data(), std::min<size_t>(n, kHeadBytes - stream.seen));
        }
    } else {
        stream.collected.insert(stream.collected.end(), bytes.begin(), bytes.begin() + n);
    }
    stream.seen += n;
    chunk_left_ -= n;
    bytes = bytes.subspan(n);
    if (chunk_left_) return {};
    in_chunk_ = false;
    if (stream.seen < stream.size) return {};
    return end_message(stream, sink);
}

base::Result<void> ChunkSkimmer::end_message(ChunkStream& stream, ControlSink& sink) {
    stream.seen = 0;
    if (stream.skipped()) {
        sink.on_media({stream.type, stream.timestamp, stream.size,
                       std::span<const uint8_t>(stream.head.data(), std::min<size_t>(stream.size, kHeadBytes))});
        return {};
    }
    auto body = std::exchange(stream.collected, {});
    if (stream.type == rtmp::kSetChunkSize) {
        uint32_t size = base::ByteReader(body).u32() & 0x7fffffff;
        if (size == 0) return base::fail(base::Code::kProtocol, "a chunk size of 0");
        chunk_size_ = size;
        return {};
    }
    return sink.on_control(stream.type, stream.timestamp, body);
}

}  // namespace load
