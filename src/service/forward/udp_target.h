#pragma once
// Where a stream is sent as a transport stream by UDP, or in RTP: udp://HOST:PORT?..., rtp://HOST:PORT?.... Pure text.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/endpoint.h"
#include "base/result.h"

namespace service::forward {

struct UdpTarget {
    bool rtp = false;
    std::string host{};
    uint16_t port = 0;
    // Of multicast: by which interface, and how many routers it may pass.
    std::string interface {};
    uint8_t ttl = 16;
};

// Parameters: interface, and ttl from 1 to 255; those by which FFmpeg says how its own socket works are ignored, others
// are errors. kConfig; the text has nothing of a user.
base::Result<UdpTarget> parse_udp_target(std::string_view url);

// The addresses that streams are sent to: two streams at one address would be unreadable for its receivers.
class UdpTargets {
  public:
    class Claim {
      public:
        Claim() = default;
        Claim(Claim&& other) noexcept : targets_(std::exchange(other.targets_, nullptr)), address_(other.address_) {}
        Claim& operator=(Claim&& other) noexcept {
            std::swap(targets_, other.targets_);
            std::swap(address_, other.address_);
            return *this;
        }
        ~Claim() {
            if (targets_) targets_->taken_.erase(address_);
        }

      private:
        friend class UdpTargets;
        Claim(UdpTargets& targets, const base::Endpoint& address) : targets_(&targets), address_(address) {}
        UdpTargets* targets_ = nullptr;
        base::Endpoint address_;
    };

    // Held until the claim is destroyed; this must outlive it. kBusy: another stream has it.
    base::Result<Claim> claim(const base::Endpoint& address);

  private:
    std::set<base::Endpoint> taken_;
};

}  // namespace service::forward
