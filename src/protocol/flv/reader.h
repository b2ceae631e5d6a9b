#pragma once
// A streaming reader of FLV files: bytes in as they arrive, tags out. Unknown tag types are returned as they are;
// encrypted tags are an error. previous-tag-size fields are not checked: wrong ones are common and harmless.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "protocol/flv/tag.h"

namespace flv {

struct Tag {
    uint8_t type = 0;        // a TagType, or another value from the file
    uint32_t timestamp = 0;  // ms
    base::Slice body;        // may be empty
};

class Reader {
  public:
    // A tag with a larger body is an error.
    explicit Reader(uint32_t max_body_size = kMaxBodySize) : max_body_size_(max_body_size) {}

    // Appends the bytes to the buffer, which holds at most the unfinished tag and what was fed since the last next().
    void feed(std::span<const uint8_t> bytes);
    // The next complete tag, nothing when more bytes are needed, or an error, which is final.
    base::Result<std::optional<Tag>> next();

    // Valid from the first tag on.
    bool has_audio() const { return flags_ & 4; }
    bool has_video() const { return flags_ & 1; }
    size_t buffered() const { return buffer_.size() - start_; }
    size_t memory() const { return buffer_.capacity(); }  // bytes of allocations

  private:
    static constexpr uint32_t kMaxFileHeader = 4096;

    base::Result<bool> file_header();
    bool skip_pending();

    uint32_t max_body_size_;
    std::vector<uint8_t> buffer_;
    size_t start_ = 0;   // of the unread bytes
    uint32_t skip_ = 0;  // bytes to skip: the file header, a previous-tag-size
    bool header_read_ = false;
    uint8_t flags_ = 0;
};

}  // namespace flv
