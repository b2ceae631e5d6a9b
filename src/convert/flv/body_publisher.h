#pragma once
// BodyPublisher: publishes the bodies of FLV tags and RTMP messages, as clients publish them and as other servers play
// them. A body that is not valid, or of a codec that is not known, is dropped and counted: the others go on. One for
// each connection.

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/slice.h"
#include "live/hub/input_faults.h"
#include "live/hub/stream.h"
#include "protocol/flv/body.h"

namespace convert {

class BodyPublisher {
  public:
    // name: of the connections in the log, a literal.
    explicit BodyPublisher(std::string_view name) : name_(name), faults_(name) {}

    // Why a body has no frame is logged when the reason changes. An error: it was dropped, and is counted already.
    base::Result<flv::Parsed> parse(uint8_t type, const base::Slice& body, uint32_t timestamp);
    static void publish(live::Publication& publication, flv::Parsed&& parsed);
    // The number of tracks that are dropped because their ids are too high.
    size_t dropped_tracks() const { return parser_.dropped_tracks(); }
    // A message that is no body of media could not be used.
    void record_fault(const base::Error& error) { faults_.add(live::InputFaults::kMessage, error.text()); }
    const live::InputFaults& faults() const { return faults_; }

  private:
    const std::string_view name_;
    std::string_view reported_nothing_;
    live::InputFaults faults_;
    flv::BodyParser parser_;
};

}  // namespace convert
