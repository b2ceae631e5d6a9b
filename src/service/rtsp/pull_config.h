#pragma once
// The configuration of pulling: vhost/ingest with an input of RTSP.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stream_key.h"
#include "config/section.h"
#include "protocol/rtsp/url.h"
#include "service/ingest.h"

namespace service::rtsp {

// The directives of an ingest that only RTSP has.
struct PullInput {
    std::string transport = "auto";
    std::string methods = "all";
};

// Where media is pulled from.
struct PullSource : ::rtsp::Url {
    enum class Transport : uint8_t { kTcpThenUdp, kTcp, kUdpThenTcp };

    Transport transport = Transport::kTcpThenUdp;
    bool basic = true, digest = true;  // how the credentials may be sent
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

// kConfig: the text names the ingest.
base::Result<PullTask> make_task(const Ingest& ingest, const std::string& vhost);
// The pulls of all enabled vhosts. Those with an error are left out.
std::vector<PullTask> pull_tasks(const config::Snapshot& snapshot);

void add_pull_rows(std::vector<config::Row>& rows);
void check_ingests(config::Checks& checks, config::Vhost& vhost);

}  // namespace service::rtsp
