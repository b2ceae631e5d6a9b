#pragma once
// SrtpRoute: what sender threads need of a session to send its RTP packets: a copy of its keys, and where they go. With
// the session's next address, or with its end, it is retired, and the keys are wiped.

#include "protocol/srtp/deferred_rtp.h"
#include "runtime/senders/senders.h"

namespace service::rtc {

class SrtpRoute final : public runtime::DatagramRoute {
  public:
    SrtpRoute(const runtime::DatagramTarget& target, const srtp::RtpCipher& cipher)
        : DatagramRoute(target), cipher_(cipher) {}

  private:
    size_t write(const void* record, uint8_t* out) const override {
        return static_cast<const srtp::DeferredRtp*>(record)->protect(cipher_, out);
    }

    const srtp::RtpCipher cipher_;
};

}  // namespace service::rtc
