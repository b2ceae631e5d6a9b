#include "load/tag_skimmer.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "protocol/flv/tag.h"

namespace load {

void TagSkimmer::enter(State state, uint32_t wanted) {
    state_ = state;
    wanted_ = wanted;
    have_ = 0;
}

base::Result<void> TagSkimmer::feed(std::span<const uint8_t> bytes, MediaSink& sink) {
    while (!bytes.empty()) {
        if (state_ == State::kBody) {
            bytes = bytes.subspan(body(bytes, sink));
            continue;
        }
        size_t n = std::min<size_t>(wanted_ - have_, bytes.size());
        std::memcpy(fixed_.data() + have_, bytes.data(), n);
        have_ = static_cast<uint8_t>(have_ + n);
        bytes = bytes.subspan(n);
        if (have_ == wanted_) TRY(fixed(sink));
    }
    return {};
}

base::Result<void> TagSkimmer::fixed(MediaSink& sink) {
    base::ByteReader r(std::span<const uint8_t>(fixed_.data(), have_));
    if (state_ == State::kFileHeader) {
        if (r.text(3) != "FLV") return base::fail(base::Code::kProtocol, "the body is no FLV");
        r.skip(2);
        if (uint32_t size = r.u32(); size != 9) {
            return base::fail(base::Code::kProtocol, fmt::format("an FLV header of {} bytes", size));
        }
        enter(State::kTagHeader, flv::kTagHeaderSize);
        return {};
    }
    if (state_ == State::kTagHeader) return tag_header(sink);
    if (uint32_t previous = r.u32(); previous != size_ + flv::kTagHeaderSize) {
        return base::fail(base::Code::kProtocol, fmt::format("a previous-tag-size of {} behind a tag of {} bytes",
                                                             previous, size_ + flv::kTagHeaderSize));
    }
    enter(State::kTagHeader, flv::kTagHeaderSize);
    return {};
}

base::Result<void> TagSkimmer::tag_header(MediaSink& sink) {
    base::ByteReader r(fixed_);
    type_ = r.u8();
    size_ = r.u24();
    timestamp_ = r.u24();
    timestamp_ |= static_cast<uint32_t>(r.u8()) << 24;
    if (type_ != 8 && type_ != 9 && type_ != 18) {
        return base::fail(base::Code::kProtocol, fmt::format("an FLV tag of type {}", type_));
    }
    enter(State::kBody, size_);
    body_seen_ = 0;
    if (size_ == 0) end_body(sink);
    return {};
}

size_t TagSkimmer::body(std::span<const uint8_t> bytes, MediaSink& sink) {
    auto n = static_cast<uint32_t>(std::min<size_t>(size_ - body_seen_, bytes.size()));
    if (body_seen_ < kHeadBytes)
        std::memcpy(head_.data() + body_seen_, bytes.data(), std::min<size_t>(n, kHeadBytes - body_seen_));
    body_seen_ += n;
    if (body_seen_ == size_) end_body(sink);
    return n;
}

void TagSkimmer::end_body(MediaSink& sink) {
    sink.on_media(
        {type_, timestamp_, size_, std::span<const uint8_t>(head_.data(), std::min<size_t>(size_, kHeadBytes))});
    enter(State::kPreviousSize, flv::kPreviousTagSize);
}

}  // namespace load
