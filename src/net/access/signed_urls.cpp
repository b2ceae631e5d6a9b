#include "net/access/signed_urls.h"

#include <fmt/format.h>

#include <charconv>

#include "base/clock.h"
#include "net/access/hmac.h"
#include "protocol/http/url.h"

namespace net {

namespace {

constexpr size_t kMaxName = 64;

std::unexpected<base::Error> refuse(std::string text) {
    return base::fail(base::CloseReason::kRefusedAuth, std::move(text));
}

}  // namespace

std::string sign_url(std::string_view secret, const Visitor& visitor, std::string_view expires, std::string_view ip,
                     std::string_view name) {
    return hmac_sha256_hex(
        secret, fmt::format("{}\n{}/{}/{}\n{}\n{}{}{}", action_name(visitor.action), visitor.vhost, visitor.app,
                            visitor.stream, expires, ip, name.empty() ? "" : "\n", name));
}

std::string signed_name(const config::VhostSignedUrls& options, bool publishes, std::string_view param) {
    if (!options.enabled || !(publishes ? options.publish : options.play)) return {};
    if (param.find("sign_name=") == param.npos) return {};
    if (param.starts_with('?')) param.remove_prefix(1);
    return std::string(http::find_parameter(http::parse_query(param), "sign_name").value_or("").substr(0, kMaxName));
}

base::Result<void> verify_signed_url(const config::VhostSignedUrls& options, const Visitor& visitor, int64_t now_s) {
    std::string_view query = visitor.param;
    if (query.starts_with('?')) query.remove_prefix(1);
    const http::Parameters parameters = http::parse_query(query);
    auto get = [&](std::string_view name) { return http::find_parameter(parameters, name).value_or(""); };
    const std::string_view expires = get("expires"), sign = get("sign"), ip = get("ip"), name = get("sign_name");
    if (expires.empty() || sign.empty()) return refuse("the URL is not signed");
    bool good = false;
    for (const std::string& secret : options.secret)
        good |= equal_in_constant_time(sign_url(secret, visitor, expires, ip, name), sign);
    if (!good) return refuse("the URL's signature is wrong");
    if (name.size() > kMaxName) return refuse("the URL's sign_name is too long");
    // The errors from here on are seen only by clients with a valid signature.
    int64_t until_s = 0;
    auto [end, error] = std::from_chars(expires.data(), expires.data() + expires.size(), until_s);
    if (error != std::errc() || end != expires.data() + expires.size() || until_s < now_s)
        return refuse("the URL has expired");
    if (!ip.empty() && ip != visitor.ip) return refuse("the URL is signed for another address");
    return {};
}

base::Result<void> SignedUrls::admit(const Visitor& visitor, const config::Vhost& vhost) {
    const config::VhostSignedUrls& options = vhost.signed_urls;
    bool wanted =
        (visitor.action == Action::kPublish && options.publish) || (visitor.action == Action::kPlay && options.play);
    if (!options.enabled || !wanted) return {};
    return verify_signed_url(options, visitor, base::wall_ms() / 1000);
}

}  // namespace net
