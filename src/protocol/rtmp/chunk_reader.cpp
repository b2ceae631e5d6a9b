#include "protocol/rtmp/chunk_reader.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"

namespace rtmp {

using base::Code;
using base::fail;
using base::Result;

namespace {

bool is_frame(uint8_t type) { return type == kAudio || type == kVideo; }

// What publishers send, and as large as they like.
bool is_media(uint8_t type) { return is_frame(type) || type == kAggregate || type == kData || type == kDataAmf3; }

}  // namespace

Result<size_t> ChunkReader::feed(std::span<const uint8_t> bytes, MessageSink& sink) {
    size_t size = bytes.size();
    stopped_ = false;
    while (!stopped_ && (!bytes.empty() || (in_chunk_ && chunk_left_ == 0))) {
        size_t used = 0;
        if (in_chunk_) {
            used = TRY(payload(bytes, sink));
        } else if (carried_) {
            used = TRY(carried_header(bytes, sink));
        } else if (used = TRY(header(bytes)); used == 0) {
            carried_ = static_cast<uint8_t>(bytes.size());
            std::memcpy(carry_.data(), bytes.data(), bytes.size());
            used = bytes.size();
        }
        bytes = bytes.subspan(used);
    }
    return size - bytes.size();
}

// Continues a header whose beginning was carried over. Returns how many of the new bytes were consumed.
Result<size_t> ChunkReader::carried_header(std::span<const uint8_t> bytes, MessageSink& sink) {
    size_t before = carried_;
    size_t more = std::min(bytes.size(), kMaxHeader - before);
    std::array<uint8_t, kMaxHeader> kept;
    std::memcpy(kept.data(), carry_.data(), before);
    std::memcpy(kept.data() + before, bytes.data(), more);
    size_t used = TRY(header(std::span(kept.data(), before + more)));
    if (used == 0) {
        CHECK(before + more <= carry_.size());  // kMaxHeader bytes always make a complete header
        std::memcpy(carry_.data() + before, bytes.data(), more);
        carried_ = static_cast<uint8_t>(before + more);
        return more;
    }
    carried_ = 0;
    if (used >= before) return used - before;
    // The header ends within the carried bytes: the bytes kept as a possible repeated timestamp are payload instead, or
    // even the next header.
    auto rest = std::span<const uint8_t>(kept).first(before).subspan(used);
    size_t taken = TRY(feed(rest, sink));
    if (taken < rest.size()) {
        carried_ = static_cast<uint8_t>(rest.size() - taken);
        std::memcpy(carry_.data(), rest.data() + taken, carried_);
    }
    return size_t{0};
}

// Inline, like what follows: most messages of publishers take this way.
inline Result<void> ChunkReader::hand_on(Message& message, MessageSink& sink) {
    if (message.type == kSetChunkSize || message.type == kAbort) return control(message);
    stopped_ = !TRY(sink.on_message(message));
    return {};
}

// The input has all of it, and it is one chunk.
inline Result<void> ChunkReader::whole_message(const ChunkStream& stream, std::span<const uint8_t> bytes,
                                               MessageSink& sink) {
    Message message{stream.type, stream.csid, stream.stream_id, stream.timestamp,
                    is_frame(stream.type) ? frames_.copy(bytes) : base::Slice::copy(bytes)};
    return hand_on(message, sink);
}

Result<size_t> ChunkReader::payload(std::span<const uint8_t> bytes, MessageSink& sink) {
    ChunkStream& stream = streams_[current_];
    size_t n = std::min<size_t>(chunk_left_, bytes.size());
    if (!stream.busy) {
        if (n == stream.length) {
            in_chunk_ = false;
            TRY(whole_message(stream, bytes.first(n), sink));
            return n;
        }
        TRY(begin_message(stream));
    }
    base::SliceBuilder& whole = *stream.payload;
    if (n) {
        TRY(reserve(stream, n));
        whole.append(bytes.first(n));
        chunk_left_ -= static_cast<uint32_t>(n);
    }
    if (chunk_left_ == 0) {
        in_chunk_ = false;
        if (whole.size() == stream.length) TRY(end_message(stream, sink));
    }
    return n;
}

// Reads a chunk header, of which there is at least one byte, and sets the current chunk. 0: the header is incomplete,
// and nothing was changed.
Result<size_t> ChunkReader::header(std::span<const uint8_t> bytes) {
    static constexpr size_t kMessageHeader[] = {11, 7, 3, 0};  // bytes, by format
    const int format = bytes[0] >> 6;
    uint32_t csid = bytes[0] & 0x3f;
    const size_t basic = csid == 0 ? 2 : csid == 1 ? 3 : 1;
    size_t size = basic + kMessageHeader[format];
    if (bytes.size() < size) return size_t{0};
    if (basic > 1) csid = 64u + bytes[1] + (basic == 3 ? bytes[2] * 256u : 0);
    const uint8_t* message = bytes.data() + basic;
    uint32_t field = format < 3 ? base::get_u24(message) : 0;
    const bool extended = field == 0xffffff;
    if (extended) {
        if (bytes.size() < size + 4) return size_t{0};
        field = base::get_u32(bytes.data() + size);
        size += 4;
    }

    // From here on the header is complete, except for the extended timestamp that a type 3 chunk may repeat.
    ChunkStream* known = find(csid);
    if (format == 3 && known && known->extended) {
        bool need_more = false;
        bool repeated = repeated_timestamp(*known, bytes.subspan(size), need_more);
        if (need_more) return size_t{0};
        if (repeated) size += 4;
    }
    ChunkStream& stream = known ? *known : *TRY(make(csid, format));
    if (stream.busy && format != 3)
        return fail(Code::kProtocol,
                    fmt::format("chunk stream {}: a type {} header within a message, at {} of {} bytes", csid, format,
                                stream.payload->size(), stream.length));
    if (format < 2) {
        stream.length = base::get_u24(message + 3);
        stream.type = message[6];
        if (stream.length > kMaxCommand && !(takes_media_ && is_media(stream.type))) [[unlikely]]
            return too_long(stream);
    }
    if (format == 0) stream.stream_id = base::get_u32le(message + 7);
    if (format < 3) {
        stream.field = field;
        stream.extended = extended;
    }
    // A type 3 header that begins a message repeats the last delta; after a type 0 header that is the whole timestamp.
    if (!stream.busy) stream.timestamp = format == 0 ? field : stream.timestamp + stream.field;
    const size_t received = stream.busy ? stream.payload->size() : 0;
    current_ = static_cast<uint8_t>(&stream - &streams_.front());
    in_chunk_ = true;
    chunk_left_ = std::min(chunk_size_, stream.length - static_cast<uint32_t>(received));
    return size;
}

std::unexpected<base::Error> ChunkReader::too_long(const ChunkStream& stream) {
    return fail(Code::kLimit,
                fmt::format("a message of type {} with {} bytes: at most {} are accepted{}", stream.type, stream.length,
                            kMaxCommand, is_media(stream.type) ? " before publishing" : ""));
}

ChunkReader::ChunkStream* ChunkReader::find(uint32_t csid) {
    if (!streams_.empty() && streams_[current_].csid == csid) return &streams_[current_];
    for (ChunkStream& stream : streams_)
        if (stream.csid == csid) return &stream;
    return nullptr;
}

Result<ChunkReader::ChunkStream*> ChunkReader::make(uint32_t csid, int format) {
    if (format >= 2)
        return fail(Code::kProtocol, fmt::format("chunk stream {} begins with a type {} header", csid, format));
    if (streams_.size() >= kMaxChunkStreams)
        return fail(Code::kLimit, fmt::format("more than {} chunk streams", kMaxChunkStreams));
    return &streams_.emplace_back(ChunkStream{.csid = csid});
}

// Whether the four bytes after a type 3 header repeat the extended timestamp. Both kinds of peer exist; the first such
// bytes of a connection determine which kind the peer is.
bool ChunkReader::repeated_timestamp(const ChunkStream& stream, std::span<const uint8_t> bytes, bool& need_more) {
    need_more = repeats_ != Repeats::kNo && bytes.size() < 4;
    if (repeats_ != Repeats::kUnknown || need_more) return repeats_ == Repeats::kYes;
    uint32_t value = base::ByteReader(bytes).u32();
    bool repeated = value == stream.field || value == stream.timestamp;
    repeats_ = repeated ? Repeats::kYes : Repeats::kNo;
    return repeated;
}

Result<void> ChunkReader::begin_message(ChunkStream& stream) {
    stream.busy = true;
    ++stream.serial;
    if (!stream.payload) stream.payload = std::make_unique<base::SliceBuilder>();
    if (stream.length) TRY(reserve(stream, std::min<size_t>(stream.length, kFirstPayload)));
    return {};
}

// Reserves room for that many more bytes: never more than the message's length, and above the first 64 kB only as bytes
// arrive.
Result<void> ChunkReader::reserve(ChunkStream& stream, size_t bytes) {
    base::SliceBuilder& whole = *stream.payload;
    size_t have = whole.capacity();
    size_t need = whole.size() + bytes;
    if (need <= have) return {};
    size_t want = std::min<size_t>(stream.length, std::max(need, have * 2));
    const size_t limit = takes_media_ ? kMaxInProgress : kMaxCommandsInProgress;
    if (in_progress_ + (want - have) > limit)
        return fail(Code::kLimit, fmt::format("unfinished messages of more than {} bytes", limit));
    if (is_frame(stream.type) && have == 0 && want == stream.length)
        whole = base::SliceBuilder(frames_, want);
    else
        whole.reserve(want);
    in_progress_ += static_cast<uint32_t>(want - have);
    return {};
}

Result<void> ChunkReader::end_message(ChunkStream& stream, MessageSink& sink) {
    stream.busy = false;
    base::SliceBuilder& whole = *stream.payload;
    in_progress_ -= static_cast<uint32_t>(whole.capacity());
    Message message{stream.type, stream.csid, stream.stream_id, stream.timestamp, whole.freeze()};
    // Connections without audio and video messages are players, of which there may be 10,000.
    if (!is_frame(stream.type)) stream.payload.reset();
    return hand_on(message, sink);
}

void ChunkReader::list_unfinished(std::vector<uint64_t>& messages) const {
    for (const ChunkStream& stream : streams_)
        if (stream.busy) messages.push_back(uint64_t{stream.csid} << 8 | stream.serial);
}

Result<void> ChunkReader::control(const Message& message) {
    base::ByteReader reader(message.payload);
    uint32_t value = reader.u32();
    if (!reader.ok())
        return fail(Code::kProtocol,
                    fmt::format("{} of {} bytes, 4 are needed",
                                message.type == kSetChunkSize ? "Set Chunk Size" : "Abort", message.payload.size()));
    if (message.type == kSetChunkSize) {
        if (value == 0 || value > 0x7fffffff) return fail(Code::kProtocol, fmt::format("chunk size {}", value));
        chunk_size_ = std::min(value, kMaxMessage + 1);  // all larger values mean: a message is one chunk
        return {};
    }
    for (ChunkStream& stream : streams_) {
        if (stream.csid != value || !stream.busy) continue;
        stream.busy = false;
        in_progress_ -= static_cast<uint32_t>(stream.payload->capacity());
        *stream.payload = base::SliceBuilder();
    }
    return {};
}

}  // namespace rtmp
