#include "protocol/flv/reader.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace flv {

using base::Code;
using base::fail;
using base::Result;

void Reader::feed(std::span<const uint8_t> bytes) {
    if (start_ > 0) {
        buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(start_));
        start_ = 0;
    }
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

// Skips pending bytes; false when more bytes are needed.
bool Reader::skip_pending() {
    size_t n = std::min<uint64_t>(skip_, buffered());
    start_ += n;
    skip_ -= static_cast<uint32_t>(n);
    return skip_ == 0;
}

// Section E.2; false when more bytes are needed.
Result<bool> Reader::file_header() {
    if (buffered() < 9) return false;
    base::ByteReader r({buffer_.data() + start_, buffered()});
    if (r.text(3) != "FLV") return fail(Code::kProtocol, "no FLV file: it does not begin with 'FLV'");
    uint8_t version = r.u8();
    if (version != 1) return fail(Code::kProtocol, fmt::format("FLV file of version {}", version));
    flags_ = r.u8();
    uint32_t size = r.u32();
    if (size < 9 || size > kMaxFileHeader)
        return fail(Code::kProtocol, fmt::format("FLV file header of {} bytes", size));
    header_read_ = true;
    skip_ = size + static_cast<uint32_t>(kPreviousTagSize);
    return true;
}

Result<std::optional<Tag>> Reader::next() {
    if (!header_read_) {
        bool whole = TRY(file_header());
        if (!whole) return std::nullopt;
    }
    if (!skip_pending() || buffered() < kTagHeaderSize) return std::nullopt;
    base::ByteReader r({buffer_.data() + start_, buffered()});
    Tag tag;
    tag.type = r.u8();
    uint32_t size = r.u24();
    tag.timestamp = r.u24();
    tag.timestamp |= static_cast<uint32_t>(r.u8()) << 24;
    r.skip(3);  // stream id
    if (tag.type & 0xe0)
        return fail(Code::kProtocol, fmt::format("FLV tag of type {:#x}: encrypted or broken", tag.type));
    if (size > max_body_size_) return fail(Code::kLimit, fmt::format("FLV tag of {} bytes", size));
    if (r.left() < size) return std::nullopt;
    tag.body = base::Slice::copy(r.bytes(size));
    start_ += kTagHeaderSize + size;
    skip_ = kPreviousTagSize;
    return tag;
}

}  // namespace flv
