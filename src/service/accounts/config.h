#pragma once
// The configuration of records for operators: access_log, audit_log, usage.

#include <cstdint>
#include <string>
#include <vector>

#include "config/section.h"

namespace service::accounts {

struct AccessLogConfig {
    bool enabled = false;
    std::string path = "./objs/access.log";
    std::string format = "json";
    std::vector<std::string> fields{};  // empty: all
};

struct AuditLogConfig {
    bool enabled = false;
    std::string path = "./objs/audit.log";
};

struct UsageConfig {
    bool enabled = false;
    std::string path = "./objs/usage.txt";
    int days = 62;
    int rows = 10'000;
};

struct ServerConfig {
    AccessLogConfig access_log{};
    AuditLogConfig audit_log{};
    UsageConfig usage{};
};

config::Section section();

}  // namespace service::accounts
