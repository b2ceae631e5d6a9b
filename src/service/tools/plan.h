#pragma once
// The plan: which tools the configuration wants for a published stream, and for the ingests of a vhost, with their
// command lines. Pure but for the addresses of the machine, which are handed in.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/stream_key.h"
#include "config/snapshot.h"
#include "service/tools/variables.h"

namespace service::tools {

enum class Kind : uint8_t { kExec, kIngest, kTranscode };
std::string_view kind_name(Kind kind);

// A process that is kept running.
struct Job {
    Kind kind = Kind::kExec;
    std::string name{};                  // exec: the program's; ingest: its name; transcode: the scope, or "*"
    std::vector<std::string> engines{};  // those that it has outputs for
    base::StreamKey stream{};            // its input; of an ingest the stream that it publishes
    std::vector<std::string> arguments{};
    std::string output_file{}, error_file{};  // as of runtime::ProcessOptions
    std::string log_file{};                   // that of the two that is bounded; empty: neither
    std::vector<base::StreamKey> makes{};     // streams of this server that it publishes, but for an ingest
    // The job as configured, for that stream: equal texts are the same job.
    std::string text{};
};

struct Plan {
    std::vector<Job> jobs{};
    std::vector<std::string> problems{};  // why others are left out; may have secrets only where names have them
};

// What the plan has to know of the machine.
struct Machine {
    std::set<std::string> addresses{};  // of its interfaces, as text
};

// Sets where tools reach this server by RTMP.
void set_server(StreamNames& names, const config::Snapshot& snapshot);
// The stream that a URL publishes to, if that is this server: its host is one of this machine or a vhost's name, its
// port one that this server listens on.
std::optional<base::StreamKey> own_stream(std::string_view url, const config::Snapshot& snapshot,
                                          const Machine& machine);
// Whether a vhost wants any tool for the stream.
bool wants_tools(const config::Vhost& vhost, const base::StreamKey& stream);
Plan plan_stream(const config::Snapshot& snapshot, const config::Vhost& vhost, const StreamNames& names,
                 const Machine& machine);
// names: of the server and the time; stream and publisher are those of each ingest.
Plan plan_ingests(const config::Snapshot& snapshot, const config::Vhost& vhost, const StreamNames& names,
                  const Machine& machine);

}  // namespace service::tools
