#pragma once
// The text of the outbox's file (outbox_file.h): lines of fields, as base/record_lines.h has them. Pure.
//
//   run      RUN                                          a run of the server began
//   report   NUMBER RUN MADE_MS HOOK VHOST INDEX URL CLIENT SEQUENCE SHARED SEQUENCE SHARED BODY
//   session  NUMBER RUN ACTION ID IP VHOST APP STREAM PARAM TC_URL
//   done     NUMBER                                       of a report or a session
//   end                                                   the run ended by itself
//
// Numbers grow over all runs. Lines that are not complete, or not known, are skipped. MADE_MS is Unix time. URL is the
// one that the report was made for, and INDEX its position among those of the hook; of older runs URL is empty.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/access/gate.h"
#include "service/hook/report_order.h"
#include "service/hook/stats.h"

namespace service::hook {

struct SavedReport {
    uint64_t number = 0;
    std::string run{};
    int64_t made_ms = 0;
    Hook hook = Hook::kOnStop;
    std::string vhost{};
    size_t index = 0;
    std::string url{};
    std::string client_id{};
    std::array<OrderedReport::Position, 2> positions{};
    std::string body{};
};

// A client that has been admitted. Of the visitor: action, id, ip, vhost, app, stream, param (as it is reported),
// tc_url.
struct SavedSession {
    uint64_t number = 0;
    std::string run{};
    net::Visitor visitor{};
};

struct SavedOutbox {
    std::vector<SavedReport> reports{};    // in the order of their numbers
    std::vector<SavedSession> sessions{};  // whose end nobody told; none if the run ended by itself
    std::string run{};                     // the last one; empty: there was none
    bool has_ended = true;                 // that run, by itself
    uint64_t last_number = 0;
};

std::string report_line(const SavedReport& report);
std::string session_line(const SavedSession& session);
std::string done_line(uint64_t number);
std::string run_line(std::string_view run);
std::string end_line();

// What is not done.
SavedOutbox read_outbox(std::string_view text);
// The lines that are still needed: those of reports and sessions with these numbers, in ascending order, and those of
// the last run.
std::string compact_outbox(std::string_view text, std::span<const uint64_t> live);

}  // namespace service::hook
