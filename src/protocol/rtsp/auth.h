#pragma once
// Basic and Digest authentication (RFC 7617; RFC 7616 and its predecessor RFC 2617), as RTSP uses them: the server's
// challenge and check, and the client's choice and answer. Nonces are handed in. Digest has MD5 and SHA-256, with and
// without qop=auth; not the -sess variants, auth-int and userhash.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/http/headers.h"

namespace rtsp {

struct Credentials {
    std::string user{};
    std::string password{};
};

enum class Algorithm : uint8_t { kMd5, kSha256 };

struct Challenge {
    bool digest = false;  // else Basic
    Algorithm algorithm = Algorithm::kMd5;
    bool qop = false;    // auth is offered
    bool stale = false;  // the nonce was too old, the credentials are right
    std::string realm{};
    std::string nonce{};
    std::string opaque{};
    bool states_algorithm = false;  // where the server does, the client repeats it
};

// ---- Server

struct AuthOptions {
    std::string realm{};
    std::string nonce{};  // of this connection; hexadecimal
    bool basic = true;
    bool digest = true;
};

// The fields WWW-Authenticate of a 401, the strongest first.
std::vector<std::string> challenges(const AuthOptions& options);

enum class AuthResult : uint8_t {
    kAccepted,
    kMissing,    // no Authorization, or of a scheme that was not offered
    kMalformed,  // a Digest without its fields, or for another request
    kStale,      // a nonce of another connection
    kWrong,      // user or password
};
// authorization: the value of the field, empty where it is absent. url: of the request. The URL that a Digest states
// must be that one, or a beginning of it that ends before a '/': clients sign a track's request with the stream's URL.
// Compares in constant time.
AuthResult check(std::string_view authorization, std::string_view method, std::string_view url,
                 const AuthOptions& options, const Credentials& expected);

// ---- Client

// All challenges of a response; at most kMaxChallenges. A field may have several. Of schemes and algorithms that are
// not known here there is none.
inline constexpr size_t kMaxChallenges = 8;
std::vector<Challenge> parse_challenges(const http::Headers& headers);
// Digest with SHA-256, then with MD5, then Basic; null: none.
const Challenge* strongest(const std::vector<Challenge>& challenges);
// The value of Authorization. cnonce: random, hexadecimal. count: of requests with this nonce, from 1.
std::string answer(const Challenge& challenge, const Credentials& credentials, std::string_view method,
                   std::string_view url, std::string_view cnonce, uint32_t count);

}  // namespace rtsp
