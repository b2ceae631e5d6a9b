#pragma once
// Which server this is: the program, the installation and this run. Stands in the API's answers and in the metrics.

#include <cstdint>
#include <string>

namespace service {

// The program.
struct Build {
    std::string signature;          // "SRS/0.1.0"
    std::string version;            // "0.1.0"
    std::string interface_version;  // "7.0.18", of SRS
    std::string date;               // "2026-11-24 10:00:00"
    int64_t date_s = 0;             // Unix time
    std::string compiler;
};

struct Identity : Build {
    std::string server;   // of this installation: server_id, or generated
    std::string service;  // of this run
    std::string pid;
};

}  // namespace service
