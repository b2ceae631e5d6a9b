#include "net/auth.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <initializer_list>

namespace net {
namespace {

std::string base64(const std::string& text) {
    std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
    const int n = EVP_EncodeBlock(reinterpret_cast<uint8_t*>(out.data()), reinterpret_cast<const uint8_t*>(text.data()),
                                  static_cast<int>(text.size()));
    out.resize(static_cast<size_t>(n));
    return out;
}

// Of digests: they are of one length, whatever the secrets'.
bool same(std::string_view a, std::string_view b) {
    uint8_t digests[2][EVP_MAX_MD_SIZE];
    unsigned size = 0;
    CHECK(EVP_Digest(a.data(), a.size(), digests[0], &size, EVP_sha256(), nullptr) == 1);
    CHECK(EVP_Digest(b.data(), b.size(), digests[1], &size, EVP_sha256(), nullptr) == 1);
    return CRYPTO_memcmp(digests[0], digests[1], size) == 0;
}

bool is_loopback(std::string_view ip) { return ip.starts_with("127.") || ip == "::1" || ip.starts_with("::ffff:127."); }

// By which name the caller came. A web page can make a browser of this machine call us under a name of its own that
// resolves to us; not under these.
bool is_name_of_this_machine(std::string_view host) {
    const bool is_ipv4 = host.find_first_not_of("0123456789.") == host.npos;
    return host.empty() || host == "localhost" || (is_ipv4 && is_loopback(host)) || host == "::1" || host == "[::1]";
}

// A proxy on this machine speaks for others.
bool came_by_proxy(const http::Request& message) {
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{"X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"},
        [&](std::string_view field) { return message.headers.find(field).has_value(); });
}

// A page that a browser of this machine shows is not this machine.
bool is_of_a_page(const http::Request& message) {
    return !message.headers.get("Origin").empty() || message.headers.get("Sec-Fetch-Site") == "cross-site" ||
           !is_name_of_this_machine(message.host);
}

}  // namespace

Rights rights_of(std::string_view authorization, const config::HttpApiAuth& auth) {
    if (!auth.enabled) return Rights::kNone;
    const std::string_view scheme = authorization.substr(0, authorization.find(' '));
    std::string_view secret = authorization.substr(scheme.size());
    while (secret.starts_with(' ')) secret.remove_prefix(1);
    if (secret.empty()) return Rights::kNone;
    if (http::equal_ignoring_case(scheme, "Basic")) {
        if (auth.username.empty() || auth.password.empty()) return Rights::kNone;
        return same(secret, base64(auth.username + ":" + auth.password)) ? Rights::kAll : Rights::kNone;
    }
    if (!http::equal_ignoring_case(scheme, "Bearer")) return Rights::kNone;
    // All of them, whichever fits.
    Rights rights = Rights::kNone;
    for (const std::string& token : auth.read_tokens)
        if (same(secret, token)) rights = Rights::kRead;
    for (const std::string& token : auth.tokens)
        if (same(secret, token)) rights = Rights::kAll;
    return rights;
}

Verdict judge(ApiAccess access, const HttpRequest& request, const config::HttpApiAuth& auth) {
    if (access == ApiAccess::kOpen) return {};
    const http::Request& message = request.message;
    if (auth.enabled) {
        const Rights rights = rights_of(message.headers.get("Authorization"), auth);
        if (rights == Rights::kNone) return {401, "a name and a password, or a token, are needed"};
        if (rights == Rights::kRead && access == ApiAccess::kPrivileged) return {403, "this token may only read"};
        return {};
    }
    if (access == ApiAccess::kRead) return {};
    if (!is_loopback(request.peer_ip)) return {403, "only from this machine itself, or with http_api's auth enabled"};
    if (came_by_proxy(message)) return {403, "not through a proxy; enable http_api's auth for that"};
    if (is_of_a_page(message)) return {403, "not for web pages; enable http_api's auth for that"};
    return {};
}

bool is_operator(const http::Request& message, std::string_view client_ip, const config::HttpApiAuth& auth) {
    if (rights_of(message.headers.get("Authorization"), auth) != Rights::kNone) return true;
    return is_loopback(client_ip) && !came_by_proxy(message);
}

}  // namespace net
