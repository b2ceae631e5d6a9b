#include "protocol/websocket/handshake.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <span>

#include "protocol/http/response_head.h"

namespace websocket {

namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

std::string base64(std::span<const uint8_t> bytes) {
    std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
    int n = EVP_EncodeBlock(reinterpret_cast<uint8_t*>(out.data()), bytes.data(), static_cast<int>(bytes.size()));
    out.resize(static_cast<size_t>(n));
    return out;
}

// 16 bytes in base64 are 22 characters and "==".
bool is_key(std::string_view key) {
    if (key.size() != 24 || !key.ends_with("==")) return false;
    static constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return key.substr(0, 22).find_first_not_of(kAlphabet) == std::string_view::npos;
}

// RFC 9110, 5.6.2.
bool is_token_char(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

}  // namespace

bool is_upgrade(const http::Request& request) {
    return request.headers.has_token("Upgrade", "websocket") && request.headers.has_token("Connection", "upgrade");
}

std::string accept_key(std::string_view key) {
    std::string text = std::string(key) + std::string(kGuid);
    uint8_t digest[SHA_DIGEST_LENGTH];
    SHA1(reinterpret_cast<const uint8_t*>(text.data()), text.size(), digest);
    return base64(digest);
}

Refusal check_upgrade(const http::Request& request) {
    if (request.method != http::Method::kGet) return {400, "a WebSocket begins with GET"};
    if (request.minor_version == 0) return {400, "a WebSocket begins with HTTP/1.1"};
    if (request.headers.get("Sec-WebSocket-Version") != "13") return {426, "WebSocket version 13 is spoken here"};
    if (request.headers.count("Sec-WebSocket-Key") != 1 || !is_key(request.headers.get("Sec-WebSocket-Key")))
        return {400, "Sec-WebSocket-Key is missing or malformed"};
    return {};
}

std::string_view offered_subprotocol(const http::Request& request) {
    std::string_view offered = request.headers.get("Sec-WebSocket-Protocol");
    offered = offered.substr(0, offered.find(','));
    while (offered.starts_with(' ') || offered.starts_with('\t')) offered.remove_prefix(1);
    while (offered.ends_with(' ') || offered.ends_with('\t')) offered.remove_suffix(1);
    return std::ranges::all_of(offered, is_token_char) ? offered : std::string_view();
}

std::string upgrade_response(const http::Request& request, std::string_view date, std::string_view server) {
    http::HeadWriter head(101);
    head.field("Date", date)
        .field("Server", server)
        .field("Upgrade", "websocket")
        .field("Connection", "Upgrade")
        .field("Sec-WebSocket-Accept", accept_key(request.headers.get("Sec-WebSocket-Key")));
    if (const auto subprotocol = offered_subprotocol(request); !subprotocol.empty())
        head.field("Sec-WebSocket-Protocol", subprotocol);
    return head.finish();
}

}  // namespace websocket
