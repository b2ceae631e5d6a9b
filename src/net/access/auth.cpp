#include "net/access/auth.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "base/ip.h"
#include "net/access/access_rules.h"

namespace net {
namespace {

std::string base64(const std::string& text) {
    std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
    const int n = EVP_EncodeBlock(reinterpret_cast<uint8_t*>(out.data()), reinterpret_cast<const uint8_t*>(text.data()),
                                  static_cast<int>(text.size()));
    out.resize(static_cast<size_t>(n));
    return out;
}

// Compares digests: they have equal length, whatever the secrets' length.
bool same(std::string_view a, std::string_view b) {
    uint8_t digests[2][EVP_MAX_MD_SIZE];
    unsigned size = 0;
    CHECK(EVP_Digest(a.data(), a.size(), digests[0], &size, EVP_sha256(), nullptr) == 1);
    CHECK(EVP_Digest(b.data(), b.size(), digests[1], &size, EVP_sha256(), nullptr) == 1);
    return CRYPTO_memcmp(digests[0], digests[1], size) == 0;
}

bool is_loopback(std::string_view ip) { return ip.starts_with("127.") || ip == "::1" || ip.starts_with("::ffff:127."); }

// Whether Host names this machine. A web page can make a browser on this machine send requests under a name of the
// page's own that resolves to us, but not under these names.
bool is_name_of_this_machine(std::string_view host) {
    const bool is_ipv4 = host.find_first_not_of("0123456789.") == host.npos;
    return host.empty() || host == "localhost" || (is_ipv4 && is_loopback(host)) || host == "::1" || host == "[::1]";
}

// "Basic" of "Basic dTpw".
std::string_view scheme_of(std::string_view authorization) { return authorization.substr(0, authorization.find(' ')); }

bool scheme_is(std::string_view authorization, std::string_view scheme) {
    return http::equal_ignoring_case(scheme_of(authorization), scheme);
}

// A proxy on this machine forwards requests of others.
bool is_from_proxy(const http::Request& message) {
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{"X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"},
        [&](std::string_view field) { return message.headers.find(field).has_value(); });
}

// Whether the page that sent the request was loaded from the address that the request is sent to: Origin (RFC 6454, 7)
// without its scheme is Host. The scheme does not count, because TLS may end at a proxy. Browsers leave a scheme's
// usual port out of both. Without an address in Host, or for the origin "null", it is another page.
bool is_of_our_page(const http::Request& message) {
    std::string_view origin = message.headers.get("Origin");
    const size_t scheme = origin.find("://");
    if (scheme == origin.npos) return false;
    origin.remove_prefix(scheme + 3);
    return !origin.empty() && http::equal_ignoring_case(origin, message.headers.get("Host"));
}

// A page shown by a browser on this machine does not count as this machine, unless it is one of the server's own.
bool is_of_another_page(const http::Request& message) {
    if (message.headers.get("Sec-Fetch-Site") == "cross-site") return true;
    return !message.headers.get("Origin").empty() && !is_of_our_page(message);
}

bool is_of_a_browser(const http::Request& message) {
    return message.headers.get("User-Agent").starts_with("Mozilla/") || !message.headers.get("Referer").empty() ||
           !message.headers.get("Origin").empty();
}

bool has(const config::IpNetworks& networks, std::string_view ip) {
    const auto address = base::IpAddress::parse(ip);
    return address && std::ranges::any_of(networks, [&](const auto& network) { return network.contains(*address); });
}

// Whether the request's page is of another site, as far as its fields say; nullopt: they say nothing. A different port
// is still the same site.
std::optional<bool> says_another_site(const http::Request& message) {
    auto is_other = [&](std::string_view page) {
        const std::string host = page_host(page);
        return host != message.host && host != "[" + message.host + "]";
    };
    if (const auto origin = message.headers.get("Origin"); !origin.empty()) return is_other(origin);
    if (const auto site = message.headers.get("Sec-Fetch-Site"); !site.empty()) return site == "cross-site";
    if (const auto page = message.headers.get("Referer"); !page.empty()) return is_other(page);
    return std::nullopt;
}

// A name and a password that the browser adds by itself, after its own login, to requests from every page. A token is
// added by none. Behind a proxy Host may be another one: there the browser's word counts.
bool is_borrowed(const http::Request& message) {
    return scheme_is(message.headers.get("Authorization"), "Basic") &&
           message.headers.get("Sec-Fetch-Site") != "same-origin" && says_another_site(message).value_or(false);
}

bool is_address(std::string_view host) { return base::IpAddress::parse(host).has_value(); }

// Checks a request without credentials. Returns the reason for a refusal; empty: allowed.
std::string_view why_not(const HttpRequest& request, const config::IpNetworks& allowed) {
    const http::Request& message = request.message;
    const bool is_local = is_loopback(request.peer_ip);
    if (!is_local && !has(allowed, request.peer_ip))
        return "only from this machine itself, from http_api's control { allow }, or with http_api's auth enabled";
    if (is_from_proxy(message)) return "not through a proxy; enable http_api's auth for that";
    constexpr std::string_view kNoPages = "not for web pages; enable http_api's auth for that";
    if (is_of_another_page(message)) return kNoPages;
    // An Origin that is Host does not suffice: a page's own name may resolve to this machine (DNS rebinding).
    if (is_local) return is_name_of_this_machine(message.host) ? std::string_view() : kNoPages;
    // A page of any site can have a name that resolves to us, but not one of our addresses.
    if (is_of_a_browser(message) && (!is_address(message.host) || is_of_another_site(message))) return kNoPages;
    return {};
}

}  // namespace

Rights rights_of(std::string_view authorization, const config::HttpApiAuth& auth) {
    if (!auth.enabled) return Rights::kNone;
    std::string_view secret = authorization.substr(scheme_of(authorization).size());
    while (secret.starts_with(' ')) secret.remove_prefix(1);
    if (secret.empty()) return Rights::kNone;
    if (scheme_is(authorization, "Basic")) {
        if (auth.type == "bearer" || auth.username.empty() || auth.password.empty()) return Rights::kNone;
        return same(secret, base64(auth.username + ":" + auth.password)) ? Rights::kAll : Rights::kNone;
    }
    if (!scheme_is(authorization, "Bearer")) return Rights::kNone;
    // Compares all of them, even after a match.
    Rights rights = Rights::kNone;
    for (const std::string& token : auth.read_tokens)
        if (same(secret, token)) rights = Rights::kRead;
    for (const std::string& token : auth.tokens)
        if (same(secret, token)) rights = Rights::kAll;
    if (auth.type != "basic" && !auth.token.empty() && same(secret, auth.token)) rights = Rights::kAll;
    return rights;
}

std::string login_of(std::string_view authorization, const config::HttpApiAuth& auth) {
    if (rights_of(authorization, auth) == Rights::kNone) return {};
    if (scheme_is(authorization, "Basic")) return auth.username;
    std::string_view secret = authorization.substr(scheme_of(authorization).size());
    while (secret.starts_with(' ')) secret.remove_prefix(1);
    std::string name = "token";
    for (size_t i = 0; i < auth.read_tokens.size(); ++i)
        if (same(secret, auth.read_tokens[i])) name = "read token " + std::to_string(i + 1);
    for (size_t i = 0; i < auth.tokens.size(); ++i)
        if (same(secret, auth.tokens[i])) name = "token " + std::to_string(i + 1);
    return name;
}

bool may_signal(const http::Request& message, const config::HttpApiAuth& auth) {
    if (!auth.enabled || !auth.rtc_bearer_enabled) return true;
    return rights_of(message.headers.get("Authorization"), auth) == Rights::kAll;
}

std::string_view challenge(const config::HttpApiAuth& auth) {
    return auth.type == "bearer" ? "Bearer" : "Basic realm=\"SRS\", charset=\"UTF-8\"";
}

AuthResult evaluate(ApiAccess access, const HttpRequest& request, const config::HttpApi& api) {
    if (access == ApiAccess::kOpen || request.is_of_other_process) return {};
    if (api.auth.enabled) {
        const Rights rights = rights_of(request.message.headers.get("Authorization"), api.auth);
        if (rights == Rights::kNone) return {401, "a name and a password, or a token, are needed"};
        if (access != ApiAccess::kPrivileged) return {};
        if (rights == Rights::kRead) return {403, "this token may only read"};
        if (is_borrowed(request.message))
            return {403, "a page of another site needs a token, not a name and a password"};
        return {};
    }
    if (access == ApiAccess::kRead) return {};
    const std::string_view why = why_not(request, api.control.allow);
    return why.empty() ? AuthResult{} : AuthResult{403, why};
}

bool has_wrong_credentials(const HttpRequest& request, const config::HttpApi& api) {
    const std::string_view given = request.message.headers.get("Authorization");
    return api.auth.enabled && !given.empty() && rights_of(given, api.auth) == Rights::kNone;
}

bool may_see_secrets(const HttpRequest& request, const config::HttpApi& api) {
    if (request.is_of_other_process) return request.message.headers.get(kSeesSecrets) == "1";
    return api.auth.enabled && evaluate(ApiAccess::kPrivileged, request, api).status == 0;
}

AuthResult evaluate_records(const HttpRequest& request, const config::HttpApi& api) {
    if (request.is_of_other_process && request.message.headers.get(kSeesRecords) != "1")
        return {403, "not for the caller"};
    return evaluate(api.auth.enabled ? ApiAccess::kRead : ApiAccess::kPrivileged, request, api);
}

bool is_operator(const http::Request& message, std::string_view client_ip, const config::HttpApi& api) {
    if (rights_of(message.headers.get("Authorization"), api.auth) != Rights::kNone) return true;
    return (is_loopback(client_ip) || has(api.control.allow, client_ip)) && !is_from_proxy(message);
}

bool is_of_another_site(const http::Request& message) {
    return says_another_site(message).value_or(is_of_a_browser(message));
}

}  // namespace net
