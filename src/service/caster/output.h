#pragma once
// The stream that a caster publishes, as its `output` names it: rtmp://HOST/APP/STREAM, where nothing is connected to.
// Where senders name their streams, [app], [stream] and [vhost] stand for what they say.

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/stream_key.h"

namespace service::caster {

struct Output {
    base::StreamKey key{};  // its vhost as the URL names it
    std::string params{};   // "?k=v", or empty
    std::string tc_url{};
};

// What a sender says of its stream; what is empty is no variable.
struct OutputNames {
    std::string app{}, stream{}, vhost{};
};

// kConfig: the output is no URL of a stream, or has variables that the names have not. kProtocol, kLimit: a name that
// could not be part of a URL, or would be more than a name there.
base::Result<Output> parse_output(const std::string& output, const OutputNames& names = {});

}  // namespace service::caster
