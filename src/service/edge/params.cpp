#include "service/edge/params.h"

#include <algorithm>
#include <array>

#include "base/result.h"
#include "protocol/http/url.h"
#include "protocol/http/via.h"
#include "protocol/rtmp/messages.h"
#include "runtime/loop/random.h"

namespace service::edge {
namespace {

constexpr std::array<std::string_view, 4> kOwn = {"vhost", "domain", "hls_ctx", "tracks"};
constexpr size_t kNameBytes = 16;

std::string_view take_part(std::string_view& rest, char separator) {
    const std::string_view part = rest.substr(0, rest.find(separator));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
}

bool is_no_parameter(char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '#'; }

bool is_request_name(std::string_view name) {
    return name.size() == 2 * kNameBytes && name.find_first_not_of("0123456789abcdef") == name.npos;
}

}  // namespace

std::string new_request_name() { return runtime::secret_hex(kNameBytes); }

std::string params_for_origin(std::string_view params) {
    if (params.starts_with('?')) params.remove_prefix(1);
    if (params.size() > kMaxParams || std::ranges::any_of(params, is_no_parameter)) return {};
    const std::string kept = http::without_parameters(params, kOwn);
    return kept.empty() ? kept : "?" + kept;
}

void add_to_path(std::string& path, std::string_view more) {
    while (!more.empty()) {
        const std::string_view name = take_part(more, ',');
        if (!is_request_name(name) || http::has_passed(path, name) ||
            path.size() + name.size() + 1 > ::rtmp::kMaxForwardPath)
            continue;
        if (!path.empty()) path += ',';
        path += name;
    }
}

}  // namespace service::edge
