#include "protocol/websocket/handshake.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

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

std::string upgrade_response(const http::Request& request, std::string_view date, std::string_view server) {
    return http::HeadWriter(101)
        .field("Date", date)
        .field("Server", server)
        .field("Upgrade", "websocket")
        .field("Connection", "Upgrade")
        .field("Sec-WebSocket-Accept", accept_key(request.headers.get("Sec-WebSocket-Key")))
        .finish();
}

}  // namespace websocket
