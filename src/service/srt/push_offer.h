#pragma once
// What SRT offers to services that publish streams to other servers: srt:// (service/relay/srt_link.h).

#include "service/push_link.h"

namespace service::srt {

net::SessionType srt_forward_type();
PushOffer push_offer();

}  // namespace service::srt
