#pragma once
// Record: what an origin says of a stream in Redis: where to get it, and who says so. JSON; pure text.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/stream_key.h"

namespace service::cluster {

struct Record {
    std::string rtmp{};    // "rtmp://192.0.2.1:1935", or rtmps; empty: not by RTMP
    std::string http{};    // "http://192.0.2.1:8080", or https: HTTP-FLV and HLS; empty: not by HTTP
    std::string api{};     // "http://192.0.2.1:1985", or empty
    std::string fence{};   // the process: server, service, pid
    int64_t since_ms = 0;  // Unix time: when the publication began
    const std::string& where() const { return rtmp.empty() ? http : rtmp; }
    bool operator==(const Record&) const = default;
};

inline constexpr size_t kMaxRecord = 4'096;  // bytes, as text
inline constexpr size_t kMaxName = 1'024;    // of a stream's key; longer ones are neither registered nor looked up

std::string to_text(const Record& record);
// kProtocol: it is none, or an address in it is none.
base::Result<Record> parse_record(std::string_view text);

// The key of a stream in Redis: PREFIX:stream:VHOST/APP/NAME, with '/' and '%' of a part percent-encoded, so that two
// streams never have one key.
std::string key_of(std::string_view prefix, const base::StreamKey& stream);

// Whether it is SCHEME://HOST or SCHEME://HOST:PORT, with one of the two schemes.
bool is_address(std::string_view url, std::string_view scheme, std::string_view other_scheme);

// Whether the record is of the same server as self: of its process, or of one that had its address before, and is gone.
bool is_of_server(const Record& record, const Record& self);

// Two publications of one name are both alive: the one that began first is kept.
bool is_before(const Record& one, const Record& other);

// The answer of another origin to GET /api/v1/clusters: where a stream is. Nothing is there: a record without rtmp.
// kProtocol: it is no such answer.
base::Result<Record> parse_coworker_answer(std::string_view text);

}  // namespace service::cluster
