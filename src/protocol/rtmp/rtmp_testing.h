#pragma once
// For the tests of RTMP.

#include <utility>
#include <vector>

#include "protocol/rtmp/chunk_reader.h"

namespace rtmp::testing {

// Stores the messages that it receives.
struct MessageCollector : MessageSink {
    base::Result<bool> on_message(Message& message) override {
        messages.push_back(std::move(message));
        return messages.size() != stop_after;
    }
    std::vector<Message> messages;
    size_t stop_after = 0;  // the sink stops the reader after this many messages; 0: never
};

}  // namespace rtmp::testing
