#pragma once
// The configuration of pulling: vhost/ingest with an input of RTSP.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stream_key.h"
#include "config/section.h"
#include "protocol/rtsp/url.h"

namespace service::rtsp {

// A block ingest, as read.
struct Ingest {
    bool enabled = false;
    std::string ffmpeg{};
    std::string stream{};  // APP/STREAM; empty: see stream_of()
    std::string type = "file";
    std::string url{};
    std::string transport = "auto";
    bool on_demand = false;
    std::string output{};  // of its engine
    std::string name{};
    config::Location location{};
};

struct VhostIngests {
    Ingest draft{};
    std::vector<Ingest> all{};
};

// Where media is pulled from.
struct PullSource : ::rtsp::Url {
    enum class Transport : uint8_t { kTcpThenUdp, kTcp, kUdpThenTcp };

    Transport transport = Transport::kTcpThenUdp;
};
// kConfig: it is no URL of RTSP with a host; the text has no password. User and password are percent-decoded.
base::Result<PullSource> parse_source(std::string_view url);

// What an ingest of RTSP is to do.
struct PullTask {
    std::string name{};        // of the ingest
    base::StreamKey stream{};  // that is published
    PullSource source{};
    bool on_demand = false;
    // Everything of the configuration as one text, with the password: equal texts are the same task.
    std::string text{};
};

// Whether an input is pulled without an external tool: type rtsp, or type stream with a URL of RTSP.
bool is_pulled(const Ingest& ingest);
// kConfig: the text names the ingest.
base::Result<PullTask> make_task(const Ingest& ingest, const std::string& vhost);
// Of all enabled vhosts. Those with an error are left out.
std::vector<PullTask> pull_tasks(const config::Snapshot& snapshot);

void add_pull_rows(std::vector<config::Row>& rows);
config::NamedBlock ingest_block();
void check_ingests(config::Checks& checks, config::Vhost& vhost);

}  // namespace service::rtsp
