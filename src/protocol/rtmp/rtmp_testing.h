#pragma once
// For the tests of RTMP.

#include <utility>
#include <vector>

#include "protocol/rtmp/chunk_reader.h"

namespace rtmp::testing {

// Keeps the messages that it is given.
struct MessageCollector : MessageSink {
    base::Result<bool> on_message(Message& message) override {
        messages.push_back(std::move(message));
        return messages.size() != stop_after;
    }
    std::vector<Message> messages;
    size_t stop_after = 0;  // this many messages the reader is told to stop; 0: never
};

}  // namespace rtmp::testing
