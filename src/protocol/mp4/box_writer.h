#pragma once
// Writes nested boxes (ISO/IEC 14496-12, 4.2): a box's size is filled in when it is closed. Bytes stored elsewhere (a
// sample table of megabytes) can be part of a box without being copied.

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "media/codec.h"

namespace mp4 {

class BoxWriter : public base::ByteWriter {
  public:
    // Referenced bytes that belong at `offset` of the written bytes without being copied there.
    struct Elsewhere {
        size_t offset;
        std::span<const uint8_t> bytes;
    };

    // Open until destroyed, which must happen before the written bytes are moved (for example by a return). At most 4
    // GiB - 1.
    class [[nodiscard]] Box {
      public:
        Box(BoxWriter& writer, const char (&type)[5])
            : writer_(writer), start_(writer.out_.size()), extra_(writer.extra_) {
            writer.u32(0);
            writer.u32(media::fourcc(type));
        }
        Box(BoxWriter& writer, const char (&type)[5], uint8_t version, uint32_t flags) : Box(writer, type) {
            writer.u32(static_cast<uint32_t>(version) << 24 | flags);
        }
        Box(const Box&) = delete;
        ~Box() {
            size_t size = writer_.out_.size() - start_ + writer_.extra_ - extra_;
            CHECK(size <= UINT32_MAX);
            base::put_u32(writer_.out_.data() + start_, static_cast<uint32_t>(size));
        }

      private:
        BoxWriter& writer_;
        size_t start_;
        size_t extra_;
    };

    explicit BoxWriter(std::vector<uint8_t>& out) : ByteWriter(out), out_(out) {}

    Box box(const char (&type)[5]) { return Box(*this, type); }
    Box full_box(const char (&type)[5], uint8_t version, uint32_t flags) { return Box(*this, type, version, flags); }
    void type(const char (&text)[5]) { u32(media::fourcc(text)); }
    void zeros(size_t n) { out_.insert(out_.end(), n, 0); }
    // The bytes must outlive the use of elsewhere().
    void refer(std::span<const uint8_t> bytes) {
        elsewhere_.push_back({out_.size(), bytes});
        extra_ += bytes.size();
    }
    std::span<const Elsewhere> elsewhere() const { return elsewhere_; }
    // The size in bytes, including the referenced bytes.
    size_t total() const { return out_.size() + extra_; }

  private:
    std::vector<uint8_t>& out_;
    std::vector<Elsewhere> elsewhere_;
    size_t extra_ = 0;
};

}  // namespace mp4
