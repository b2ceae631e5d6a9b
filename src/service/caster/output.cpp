#include "service/caster/output.h"

#include <fmt/format.h>

#include <vector>

#include "base/stream_name.h"
#include "base/text.h"
#include "config/path_variables.h"
#include "protocol/rtmp/url.h"

namespace service::caster {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr size_t kLoggedName = 64;

// Names become a part of a URL, which is parsed then.
Result<void> check_output_name(std::string_view what, const std::string& name, std::string_view forbidden) {
    TRY(base::check_name(what, name));
    if (name.find_first_of(forbidden) == name.npos) return {};
    return fail(Code::kProtocol,
                fmt::format("the {} '{}' has a forbidden character", what, base::for_log(name, kLoggedName)));
}

}  // namespace

Result<Output> parse_output(const std::string& output, const OutputNames& names) {
    config::PathVariables variables;
    std::vector<std::string_view> known;
    const auto set = [&](std::string_view name, const std::string& value, std::string_view forbidden) -> Result<void> {
        if (value.empty()) return {};
        TRY(check_output_name(name, value, forbidden));
        variables.set(name, value);
        known.push_back(name);
        return {};
    };
    TRY(set("app", names.app, "?&"));
    TRY(set("stream", names.stream, "?&/"));
    TRY(set("vhost", names.vhost, "?&/@"));
    if (const auto unknown = config::unknown_variable(output, known); !unknown.empty())
        return fail(Code::kConfig, fmt::format("output: nothing is known of {}", unknown));
    const auto url = TRY(::rtmp::parse_any_url(variables.expand(output)), "output");
    if (url.stream.empty()) return fail(Code::kConfig, fmt::format("output '{}' names no stream", output));
    const auto address = TRY(::rtmp::resolve_stream(url.tc_url(), {}, url.stream), "output");
    return Output{{address.vhost, address.app, address.stream}, address.params, url.tc_url()};
}

}  // namespace service::caster
