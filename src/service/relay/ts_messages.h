#pragma once
// A stream as messages of a transport stream: what players and servers by SRT and by UDP are sent. All share one lane.

#include "live/hub/stream.h"
#include "live/messages/message_lane.h"

namespace service::relay {

// Lives as long as the stream.
live::MessageLane& ts_messages(live::Stream& stream);

}  // namespace service::relay
