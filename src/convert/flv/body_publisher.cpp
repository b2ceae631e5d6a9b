#include "convert/flv/body_publisher.h"

#include <utility>

#include "base/log.h"
#include "protocol/flv/metadata.h"

namespace convert {

namespace {

void publish_frame(live::Publication& publication, media::Frame&& frame) {
    if (frame.sequence_header) {
        // It is kept, and would keep the memory of the frames read with it.
        frame.payload = base::Slice::copy(frame.payload);
        if (flv::is_metadata(frame)) {
            if (flv::says_absolute_times(frame)) publication.has_absolute_times();
            if (auto names = flv::track_names(frame); !names.empty()) publication.describe_tracks(std::move(names));
        }
    }
    publication.publish(std::move(frame));
}

live::InputFaults::Kind kind_of(uint8_t type, const base::Error& error) {
    if (error.code() == flv::kUnknownCodec) return live::InputFaults::kCodec;
    if (type == 9) return live::InputFaults::kVideo;
    return type == 8 ? live::InputFaults::kAudio : live::InputFaults::kData;
}

}  // namespace

base::Result<flv::Parsed> BodyPublisher::parse(uint8_t type, const base::Slice& body, uint32_t timestamp) {
    auto parsed = parser_.parse(type, body, timestamp);
    if (!parsed) [[unlikely]] {
        faults_.add(kind_of(type, parsed.error()), parsed.error().text());
        return parsed;
    }
    if (!parsed->frame && parsed->nothing != reported_nothing_) {
        reported_nothing_ = parsed->nothing;
        base::log::info("{}: ignored: {}", name_, reported_nothing_);
    }
    return parsed;
}

void BodyPublisher::publish(live::Publication& publication, flv::Parsed&& parsed) {
    if (!parsed.frame) return;
    publish_frame(publication, *std::move(parsed.frame));
    for (media::Frame& frame : parsed.more) publish_frame(publication, std::move(frame));
}

}  // namespace convert
