#pragma once
// The variables in arguments of tools, [vhost] [port] [app] [stream] [param] [engine] [url] [tcUrl] [swfUrl] [pageUrl]
// and those of the time, which stand for what clients have chosen: names must not become options, other arguments, or
// paths that lead elsewhere. Pure.
//
// There is no shell, so a value never ends an argument. In an argument that is a URL ("://" is in its pattern), the
// names are put in as they are. In others, which may be paths, those of vhost, app and stream are made safe parts of
// paths.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/stream_key.h"

namespace service::tools {

// What is known of a published stream, or of the one that is to be published.
struct StreamNames {
    base::StreamKey key{};
    std::string host = "127.0.0.1";  // where this server is reached by RTMP; IPv6 in brackets
    uint16_t port = 1935;
    std::string params{};  // "?k=v", of the publisher
    std::string tc_url{}, swf_url{}, page_url{};
    std::string signature{};  // "expires=...&sign=...", with which tools may play the stream; empty: not needed
    int64_t wall_ms = 0;
    bool utc = false;  // of the calendar

    // Where tools play the stream: rtmp://HOST:PORT/APP/STREAM?vhost=V, and the signature.
    std::string input_url() const;
};

class Variables {
  public:
    // Both must outlive it. engine: of [engine].
    Variables(const StreamNames& names, std::string_view engine) : names_(names), engine_(engine) {}

    // kRefused: a value has spaces or control bytes, or would make an option of an argument that was none.
    base::Result<std::string> argument(std::string_view pattern) const;
    // The path of a file that a tool writes to.
    base::Result<std::string> path(std::string_view pattern) const;

  private:
    base::Result<std::string> expand(std::string_view pattern, bool is_url, bool is_path) const;

    const StreamNames& names_;
    std::string_view engine_;
};

// The name of a log file: "ffmpeg-transcode-VHOST-APP-STREAM.log", of at most 200 bytes and without directories.
std::string log_name(std::string_view kind, const base::StreamKey& stream);

}  // namespace service::tools
