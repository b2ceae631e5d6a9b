#include "protocol/http/body_reader.h"

#include <algorithm>

namespace http {

using base::Code;
using base::fail;

namespace {
constexpr uint64_t kMaxChunk = UINT64_C(1) << 40;
}

base::Result<BodyReader::Step> BodyReader::feed(std::span<const uint8_t> bytes) {
    Step step;
    if (done_) return step;
    if (framing_ == Framing::kUntilClose) {
        step.used = bytes.size();
        step.data = bytes;
        return step;
    }
    while (!done_ && step.used < bytes.size()) {
        if (framing_ == Framing::kLength || state_ == ChunkState::kData) {
            size_t n = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size() - step.used));
            step.data = bytes.subspan(step.used, n);
            step.used += n;
            left_ -= n;
            if (left_ == 0 && framing_ == Framing::kLength) done_ = true;
            if (left_ == 0) state_ = ChunkState::kDataCr;
            return step;
        }
        TRY(framing_byte(bytes[step.used++]));
    }
    return step;
}

base::Result<void> BodyReader::framing_byte(uint8_t byte) {
    if (++line_bytes_ > kMaxLineBytes) return fail(Code::kLimit, "chunk framing is too long");
    switch (state_) {
        case ChunkState::kSizeStart:
        case ChunkState::kSize:
        case ChunkState::kSizeSpace:
        case ChunkState::kExtension:
            return size_byte(byte);
        case ChunkState::kSizeLf:
            if (byte != '\n') return fail(Code::kProtocol, "CR without LF behind a chunk size");
            state_ = left_ ? ChunkState::kData : ChunkState::kTrailer;
            trailer_line_ = 0;
            if (left_) line_bytes_ = 0;
            return {};
        case ChunkState::kDataCr:
            if (byte != '\r') return fail(Code::kProtocol, "a chunk is longer than its size");
            state_ = ChunkState::kDataLf;
            return {};
        case ChunkState::kDataLf:
            if (byte != '\n') return fail(Code::kProtocol, "CR without LF behind a chunk");
            state_ = ChunkState::kSizeStart;
            return {};
        case ChunkState::kTrailer:
            return trailer_byte(byte);
        case ChunkState::kData:
            break;
    }
    return {};
}

base::Result<void> BodyReader::size_byte(uint8_t byte) {
    if (byte == '\n') return fail(Code::kProtocol, "chunk size line that ends in LF without CR");
    if (state_ == ChunkState::kExtension) {
        if (byte == '\r') state_ = ChunkState::kSizeLf;
        return {};
    }
    int digit = byte >= '0' && byte <= '9'   ? byte - '0'
                : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                             : -1;
    if (digit >= 0 && state_ != ChunkState::kSizeSpace) {
        left_ = (state_ == ChunkState::kSizeStart ? 0 : left_ * 16) + static_cast<uint64_t>(digit);
        if (left_ > kMaxChunk) return fail(Code::kProtocol, "chunk size is too large");
        state_ = ChunkState::kSize;
        return {};
    }
    if (state_ == ChunkState::kSizeStart) return fail(Code::kProtocol, "chunk size is no hexadecimal number");
    if (byte == '\r') {
        state_ = ChunkState::kSizeLf;
    } else if (byte == ';') {
        state_ = ChunkState::kExtension;
    } else if (byte == ' ' || byte == '\t') {
        state_ = ChunkState::kSizeSpace;
    } else {
        return fail(Code::kProtocol, "chunk size is no hexadecimal number");
    }
    return {};
}

base::Result<void> BodyReader::trailer_byte(uint8_t byte) {
    if (byte == '\n') {
        if (previous_ != '\r') return fail(Code::kProtocol, "trailer line that ends in LF without CR");
        if (trailer_line_ == 0) done_ = true;
        trailer_line_ = 0;
    } else if (previous_ == '\r') {
        return fail(Code::kProtocol, "CR without LF in the trailer");
    } else if (byte != '\r') {
        ++trailer_line_;
    }
    previous_ = byte;
    return {};
}

}  // namespace http
