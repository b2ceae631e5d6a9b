#pragma once
// The doctor's facts about the machine and the configuration: read by read.h, evaluated by evaluate.h. A fact that
// could not be read is empty.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/types.h"

namespace server::doctor {

struct Port {
    std::string what;  // "rtmp/listen"
    config::ListenAddress address;
    int error = 0;       // errno of binding it; 0: it is free
    std::string holder;  // the program that listens there, if that can be determined
    int holder_pid = 0;
};

struct Certificate {
    std::string what;  // "http_server/https"
    std::string cert;
    std::string key;
    std::string error;  // why it cannot be used; empty: it is usable
    int64_t not_before_s = 0;
    int64_t not_after_s = 0;
};

struct Disk {
    std::string what;  // "srs_log_file"
    std::string directory;
    int error = 0;  // errno of accessing it, or of writing there
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    double written_mb_per_s = 0;  // including the flush to the disk
};

struct Program {
    std::string what;  // "transcode of vhost a.com"
    std::string name;  // as configured
    std::string path;  // where it was found; empty: it does not exist or is not executable
};

struct Facts {
    int64_t now_s = 0;
    int max_connections = 0;
    uint64_t open_files = 0;  // the hard limit, to which the server raises its soft limit
    std::optional<int64_t> rmem_max, wmem_max, somaxconn, max_map_count;
    std::optional<std::pair<int64_t, int64_t>> local_ports;
    std::vector<Port> ports;
    std::vector<Certificate> certificates;
    std::vector<Disk> disks;
    std::vector<Program> programs;
    std::string clock_source;
    std::vector<std::string> clock_sources;  // available ones
    std::optional<bool> clock_synchronised;
    std::vector<std::string> governors;  // each kind once; empty: this machine's processors have no governor
    int cpus_online = 0;
    int cpus_allowed = 0;                    // to this process
    int cpus_usable = 0;                     // by this process: also as its cgroup's quota says
    int sender_threads = 0;                  // that the server starts
    std::vector<uint64_t> network_softirqs;  // per processor: NET_RX softirqs since the machine started
};

}  // namespace server::doctor
