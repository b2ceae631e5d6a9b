#pragma once
// Description: what a service says about itself. server/ makes, starts, reloads and stops services by their
// descriptions; the doctor, the check of files and programs and the list of features iterate over them. No code outside
// of a service's folder names the service, except for its line in server/services.inc.
//
// A service has a function `const service::Description& describe()` in its namespace, in its description.cpp.

#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "service/module.h"
#include "service/shared_parts.h"

namespace service::url {
struct Part;  // service/url/protocol.h
}

namespace service {

// A file that the service writes with a given configuration, or a directory of such files.
struct OutputFile {
    std::string what;  // for people: "vhost a.com dvr_path"
    std::string path;  // may have variables in []; a directory ends in '/'
    bool is_fatal;     // without permission to write it an enabled output writes nothing
    config::Location location{};
};

// A TLS certificate with its key, which the service reads at its start and at each reload.
struct KeyPair {
    std::string block;  // "http_server/https"
    std::string key;    // path of a PEM file
    std::string cert;   // path of a PEM file
};

// A program that the service runs.
struct Program {
    std::string what;     // for people: "transcode of vhost a.com"
    std::string program;  // a path, or a name that is looked up in PATH
    config::Location location{};
};

struct Description {
    std::string_view name;                     // of its module: "http_api"
    config::Section section{};                 // its directives and listeners; empty: config/ itself has them
    std::vector<std::string_view> features{};  // names in /api/v1/features that it provides
    // Empty when the service is not enabled.
    std::vector<OutputFile> (*outputs)(const config::Snapshot&) = nullptr;
    std::vector<KeyPair> (*key_pairs)(const config::Snapshot&) = nullptr;
    std::vector<Program> (*programs)(const config::Snapshot&) = nullptr;
    // What it knows of the URLs by which clients ask for streams; null: nothing.
    const url::Part* (*urls)() = nullptr;
    // The parts outlive the module.
    Module (*make)(const SharedParts& parts, const config::SnapshotPtr& snapshot);
};

}  // namespace service
