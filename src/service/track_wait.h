#pragma once
// TrackWait: a guard that lets players who need the stream's tracks for their answer (WebRTC, RTSP) wait until these
// are there, where the stream is pulled from another server or a camera. It is asked after the guard that begins the
// pull.

#include <functional>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"

namespace service {

class TrackWait final : public net::Guard {
  public:
    static constexpr int64_t kMaxMs = 5'000;
    static constexpr size_t kMaxWaiting = 1'000;  // others are let through at once

    // Both do not yield.
    struct Pulled {
        std::function<bool(const config::Vhost&)> vhost;        // whether streams of the vhost are pulled
        std::function<bool(const live::StreamKey&)> is_pulled;  // the stream, for a player that asks for it
    };

    // The registry, and what the functions use, must outlive it.
    TrackWait(Pulled pulled, const live::Registry& registry) : pulled_(std::move(pulled)), registry_(registry) {}
    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost& vhost) override;
    bool may_yield(net::Action action, const config::Vhost& vhost) const override;

  private:
    const Pulled pulled_;
    const live::Registry& registry_;
    size_t waiting_ = 0;
};

}  // namespace service
