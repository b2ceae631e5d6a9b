#include "service/rtmp/client_info.h"

#include <array>
#include <functional>
#include <utility>

#include "convert/flv/all_tracks.h"

namespace service::rtmp {
namespace {

// A cache with one slot per hash value, which keeps the last entry.
constexpr size_t kRemembered = 64;
constexpr size_t kMaxRememberedBytes = 512;  // per entry: longer ones are not shared

size_t size_of(const ConnectFields& f) {
    return f.app.size() + f.tc_url.size() + f.page_url.size() + f.swf_url.size() + f.forward_path.size() +
           f.key_vhost.size() + f.key_app.size();
}

std::shared_ptr<const ConnectFields> find_or_make(ConnectFields fields) {
    static std::array<std::shared_ptr<const ConnectFields>, kRemembered> recent;
    if (size_of(fields) > kMaxRememberedBytes) return std::make_shared<const ConnectFields>(std::move(fields));
    auto& known = recent[std::hash<std::string>()(fields.tc_url) % kRemembered];
    if (!known || *known != fields) known = std::make_shared<const ConnectFields>(std::move(fields));
    return known;
}

}  // namespace

ClientInfo::ClientInfo(ConnectFields fields) : fields_(find_or_make(std::move(fields))) {}

bool ClientInfo::wants_all_tracks() const {
    if (fields().multitrack) return true;
    const std::string_view query = std::string_view(params_).substr(params_.empty() ? 0 : 1);
    return convert::asks_for_all_tracks(http::parse_query(query));
}

const ConnectFields& ClientInfo::fields() const {
    static const ConnectFields kNothing;
    return fields_ ? *fields_ : kNothing;
}

}  // namespace service::rtmp
