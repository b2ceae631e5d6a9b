#include "service/api/access.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <strings.h>

namespace service::api {
namespace {

std::string base64(const std::string& text) {
    std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
    const int n = EVP_EncodeBlock(reinterpret_cast<uint8_t*>(out.data()), reinterpret_cast<const uint8_t*>(text.data()),
                                  static_cast<int>(text.size()));
    out.resize(static_cast<size_t>(n));
    return out;
}

bool is_loopback(std::string_view ip) { return ip.starts_with("127.") || ip == "::1" || ip.starts_with("::ffff:127."); }

// By which name the caller came. A web page can make a browser of this machine call us under a name of its own that
// resolves to us; not under these.
bool is_name_of_this_machine(std::string_view host) {
    const bool is_ipv4 = host.find_first_not_of("0123456789.") == host.npos;
    return host.empty() || host == "localhost" || (is_ipv4 && is_loopback(host)) || host == "::1" || host == "[::1]";
}

}  // namespace

bool authenticates(std::string_view authorization, const config::HttpApiAuth& auth) {
    constexpr std::string_view kScheme = "Basic ";
    if (!auth.enabled || auth.username.empty() || auth.password.empty()) return false;
    if (authorization.size() < kScheme.size() || strncasecmp(authorization.data(), kScheme.data(), kScheme.size()) != 0)
        return false;
    authorization.remove_prefix(kScheme.size());
    while (authorization.starts_with(' ')) authorization.remove_prefix(1);
    const std::string wanted = base64(auth.username + ":" + auth.password);
    return authorization.size() == wanted.size() &&
           CRYPTO_memcmp(authorization.data(), wanted.data(), wanted.size()) == 0;
}

Verdict judge(Access access, const net::HttpRequest& request, const config::HttpApiAuth& auth) {
    const http::Request& message = request.message;
    if (auth.enabled) {
        if (authenticates(message.headers.get("Authorization"), auth)) return {};
        return {401, "a name and a password are needed"};
    }
    if (access == Access::kRead) return {};
    if (!is_loopback(request.peer_ip)) return {403, "only from this machine itself, or with http_api's auth enabled"};
    // A page that a browser of this machine shows is not this machine.
    if (!message.headers.get("Origin").empty() || message.headers.get("Sec-Fetch-Site") == "cross-site" ||
        !is_name_of_this_machine(message.host))
        return {403, "not for web pages; enable http_api's auth for that"};
    return {};
}

}  // namespace service::api
