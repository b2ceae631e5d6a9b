#pragma once
// A source by SRT: this server calls another one, and publishes the transport stream that it sends.

#include <memory>

#include "service/relay/source.h"
#include "service/relay/srt_call.h"

namespace service::relay {

struct SrtSourceOptions {
    SrtTarget target{};
    // It is there for players, as an edge's pulls: a publisher of this server takes its place.
    bool gives_way = false;
};

std::unique_ptr<Source> make_srt_source(SrtSourceOptions options);

}  // namespace service::relay
