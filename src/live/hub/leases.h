#pragma once
// Leases of a stream: a player or a consumer of frames that is neither a viewer of a log, nor a sink, nor a player of
// the RTP lane, counts for the stream while its lease lives. An empty lease counts for nothing.

#include <cstdint>
#include <utility>

#include "base/ref.h"
#include "live/hub/stream.h"

namespace live {

// A player that waits for the stream, or that fetches files of it: part of Stream::demand().
class PlayerLease {
  public:
    enum class Kind : uint8_t { kWaits, kFetchesFiles };

    PlayerLease() = default;
    explicit PlayerLease(base::Ref<Stream> stream, Kind kind = Kind::kWaits) : stream_(std::move(stream)), kind_(kind) {
        stream_->add_player();
        if (kind_ == Kind::kFetchesFiles) ++stream_->file_players_;
    }
    PlayerLease(PlayerLease&& other) noexcept : stream_(std::move(other.stream_)), kind_(other.kind_) {}
    PlayerLease& operator=(PlayerLease&& other) noexcept {
        std::swap(stream_, other.stream_);
        std::swap(kind_, other.kind_);
        return *this;
    }
    ~PlayerLease() { end(); }

    void end() {
        if (!stream_) return;
        if (kind_ == Kind::kFetchesFiles) --stream_->file_players_;
        stream_->remove_player();
        stream_.reset();
    }

  private:
    base::Ref<Stream> stream_;
    Kind kind_ = Kind::kWaits;
};

// A player that is the server's other process, during an upgrade: part of Stream::demand(), but no client.
class CopyLease {
  public:
    CopyLease() = default;
    explicit CopyLease(base::Ref<Stream> stream) : stream_(std::move(stream)) { ++stream_->copies_; }
    CopyLease(CopyLease&& other) noexcept = default;
    CopyLease& operator=(CopyLease&& other) noexcept {
        std::swap(stream_, other.stream_);
        return *this;
    }
    ~CopyLease() {
        if (stream_) --stream_->copies_;
    }

  private:
    base::Ref<Stream> stream_;
};

// Frames will be taken soon: a stream that is published as RTP is converted to frames already.
class FramesLease {
  public:
    explicit FramesLease(base::Ref<Stream> stream) : stream_(std::move(stream)) { stream_->add_frames_lease(); }
    ~FramesLease() { stream_->remove_frames_lease(); }
    FramesLease(const FramesLease&) = delete;

  private:
    base::Ref<Stream> stream_;
};

}  // namespace live
