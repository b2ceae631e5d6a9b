#pragma once
// The block ingest of a vhost, which services share: each pulls the inputs that it can, and adds directives of its own
// to the block. A service includes no other, so what all of them need is here. See
// doc/decisions/136-the-block-ingest-is-shared.md.

#include <string>
#include <vector>

#include "base/result.h"
#include "base/stream_key.h"
#include "config/section.h"

namespace service {

// A block engine in it, as read.
struct IngestEngine {
    std::string name{};
    bool enabled = false;
    std::string output{};
    config::Sections parts{};  // of services, as those of a vhost
    std::string text{};        // what differs from the defaults, for a reload
};

// A block ingest, as read.
struct Ingest {
    std::string name{};
    bool enabled = false;
    std::string stream{};  // APP/STREAM; empty: see ingested_stream()
    std::string ffmpeg{};
    std::string type = "file";
    std::string url{};
    bool on_demand = false;
    std::vector<IngestEngine> engines{};
    config::Sections parts{};
    std::string text{};
    config::Location location{};

    // The first that an engine has; empty: none has.
    const std::string& output() const;
};

struct VhostIngests {
    Ingest draft{};
    IngestEngine draft_engine{};
    std::vector<Ingest> all{};
};

// Whether inputs can be pulled by a tool.
bool has_tool_for_ingests();
// Who pulls an input: an external tool, or the server itself: RTSP, or transport streams by UDP (udp://, rtp://), by
// type or by URL; SRT, by type.
enum class IngestPuller : uint8_t { kTool, kRtsp, kUdp, kSrt };
// An input with an enabled engine is the tool's. By the directives that are built in: without those of engines these
// are ignored, and without those of RTSP, casters or SRT, a tool has to do.
IngestPuller puller_of(const Ingest& ingest);

// The stream that is published: `stream`, that of the engine's output, or live/NAME. kConfig: it is no APP/STREAM.
base::Result<base::StreamKey> ingested_stream(const Ingest& ingest, const std::string& vhost);

// An error for those ingests of a protocol that publish the stream of another one which the server pulls, too.
void check_pulled_streams(config::Checks& checks, const config::Vhost& vhost, IngestPuller puller);

// For the section of each service that pulls inputs.
void add_ingest_rows(std::vector<config::Row>& rows);
std::vector<config::NamedBlock> ingest_blocks();

}  // namespace service
