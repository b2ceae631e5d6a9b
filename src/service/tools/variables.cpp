#include "service/tools/variables.h"

#include <fmt/format.h>

#include "base/text.h"
#include "config/path_variables.h"

namespace service::tools {

using base::Code;
using base::fail;
using base::Result;

namespace {

bool has_space_or_control(std::string_view text) {
    for (const char c : text)
        if (static_cast<unsigned char>(c) <= ' ' || c == 127) return true;
    return false;
}

// A client may send any text as these; what is no URL of the web or of RTMP is not passed on.
std::string_view checked_url(std::string_view url) {
    for (const std::string_view scheme : {"rtmp://", "rtmps://", "rtmpt://", "http://", "https://"})
        if (url.starts_with(scheme)) return url;
    return {};
}

// The signature before the publisher's parameters, which may have another one.
std::string join_parameters(std::string_view signature, std::string_view params, std::string_view vhost) {
    if (params.starts_with('?')) params.remove_prefix(1);
    std::string all = "?";
    for (const std::string_view part : {signature, params})
        if (!part.empty()) all.append(part).append("&");
    return all.append("vhost=").append(vhost);
}

}  // namespace

std::string StreamNames::input_url() const {
    return fmt::format("rtmp://{}:{}/{}/{}?vhost={}{}{}", host, port, key.app, key.name, key.vhost,
                       signature.empty() ? "" : "&", signature);
}

Result<std::string> Variables::expand(std::string_view pattern, bool is_url, bool is_path) const {
    const base::StreamKey& key = names_.key;
    const std::string url = fmt::format("rtmp://{}:{}/{}/{}{}", names_.host, names_.port, key.app, key.name,
                                        join_parameters(names_.signature, names_.params, key.vhost));
    const std::string port = std::to_string(names_.port);
    enum class Kind : uint8_t { kOwn, kName, kUrl };
    struct Variable {
        std::string_view name, value;
        Kind kind;
    };
    const Variable variables[] = {{"port", port, Kind::kOwn},
                                  {"engine", engine_, Kind::kOwn},
                                  {"vhost", key.vhost, Kind::kName},
                                  {"app", key.app, Kind::kName},
                                  {"stream", key.name, Kind::kName},
                                  {"param", names_.params, Kind::kUrl},
                                  {"url", url, Kind::kUrl},
                                  {"tcUrl", checked_url(names_.tc_url), Kind::kUrl},
                                  {"swfUrl", checked_url(names_.swf_url), Kind::kUrl},
                                  {"pageUrl", checked_url(names_.page_url), Kind::kUrl}};
    config::PathVariables values;
    for (const Variable& variable : variables) {
        if (pattern.find(fmt::format("[{}]", variable.name)) == pattern.npos) continue;
        if (variable.kind != Kind::kOwn && has_space_or_control(variable.value))
            return fail(Code::kRefused, fmt::format("[{}] has spaces or control bytes: '{}'", variable.name,
                                                    base::for_log(variable.value)));
        const bool is_raw =
            variable.kind == Kind::kOwn || (is_url && !is_path) || (variable.kind == Kind::kUrl && !is_path);
        values.set(variable.name, is_raw ? std::string(variable.value) : config::safe_part(variable.value));
    }
    values.set_time(names_.wall_ms, names_.utc);
    return values.expand(pattern);
}

Result<std::string> Variables::argument(std::string_view pattern) const {
    std::string text = TRY(expand(pattern, pattern.find("://") != pattern.npos, false));
    if (text.starts_with('-') && !pattern.starts_with('-'))
        return fail(Code::kRefused, fmt::format("'{}' would become an option: '{}'", pattern, text));
    return text;
}

Result<std::string> Variables::path(std::string_view pattern) const { return expand(pattern, false, true); }

std::string log_name(std::string_view kind, const base::StreamKey& stream) {
    constexpr size_t kMaxPart = 55;
    std::string name(kind);
    for (const std::string& part : {stream.vhost, stream.app, stream.name})
        name += '-' + config::safe_part(std::string_view(part).substr(0, kMaxPart));
    return name + ".log";
}

}  // namespace service::tools
