#pragma once
// TagSkimmer: follows an FLV stream's framing (Adobe Flash Video File Format 10.1, E.2 to E.4) without keeping bodies,
// so that ten thousand viewers cost the load side little. It checks what a viewer would choke on: signature, tag types,
// previous-tag-size fields.

#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "load/media_sink.h"

namespace load {

class TagSkimmer {
  public:
    // An error is final.
    base::Result<void> feed(std::span<const uint8_t> bytes, MediaSink& sink);

  private:
    enum class State : uint8_t { kFileHeader, kTagHeader, kBody, kPreviousSize };
    static constexpr size_t kFixedMax = 13;

    base::Result<void> fixed(MediaSink& sink);
    base::Result<void> tag_header(MediaSink& sink);
    void enter(State state, uint32_t wanted);
    size_t body(std::span<const uint8_t> bytes, MediaSink& sink);
    void end_body(MediaSink& sink);

    State state_ = State::kFileHeader;
    std::array<uint8_t, kFixedMax> fixed_{};  // of the header under way
    uint8_t have_ = 0;
    uint32_t wanted_ = kFixedMax;  // bytes of this state in all
    uint32_t body_seen_ = 0;
    uint8_t type_ = 0;
    uint32_t timestamp_ = 0;
    uint32_t size_ = 0;
    std::array<uint8_t, kHeadBytes> head_{};
};

}  // namespace load
