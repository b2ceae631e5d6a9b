#include "protocol/rtsp/auth.h"

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/result.h"

namespace rtsp {

using http::equal_ignoring_case;

namespace {

// A value that is longer is no field of a client that means well.
constexpr size_t kMaxFields = 16;

std::string hex_of(std::string_view text, Algorithm algorithm) {
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    CHECK(EVP_Digest(text.data(), text.size(), digest, &size, algorithm == Algorithm::kMd5 ? EVP_md5() : EVP_sha256(),
                     nullptr) == 1);
    std::string out;
    for (unsigned i = 0; i < size; ++i) out += fmt::format("{:02x}", digest[i]);
    return out;
}

std::string base64(std::string_view text) {
    std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
    const int size = EVP_EncodeBlock(reinterpret_cast<uint8_t*>(out.data()),
                                     reinterpret_cast<const uint8_t*>(text.data()), static_cast<int>(text.size()));
    out.resize(static_cast<size_t>(size));
    return out;
}

// The time depends on the lengths only.
bool equal_secretly(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// name=value or name="value" with escapes, separated by commas. The first of each name counts; names in lower case.
class Fields {
  public:
    // Takes fields from the text, up to its end or to a word that no '=' follows: the next scheme.
    explicit Fields(std::string_view& text) {
        for (size_t count = 0; count < kMaxFields; ++count) {
            skip(text, " \t,");
            const size_t end = std::min(text.find_first_of(" \t=,\""), text.size());
            std::string_view after = text.substr(end);
            skip(after, " \t");
            if (end == 0 || !after.starts_with('=')) return;
            std::string name(text.substr(0, end));
            std::ranges::transform(name, name.begin(),
                                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
            after.remove_prefix(1);
            skip(after, " \t");
            text = after;
            values_.emplace(std::move(name), take_value(text));
        }
    }
    // Empty: it is absent.
    std::string_view get(std::string_view name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? std::string_view() : std::string_view(found->second);
    }
    bool has(std::string_view name) const { return values_.contains(name); }

  private:
    static void skip(std::string_view& text, std::string_view characters) {
        text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
    }
    static std::string take_value(std::string_view& text) {
        std::string value;
        if (!text.starts_with('"')) {
            const size_t end = std::min(text.find_first_of(", \t"), text.size());
            value = text.substr(0, end);
            text.remove_prefix(end);
            return value;
        }
        size_t i = 1;
        for (; i < text.size() && text[i] != '"'; ++i) {
            if (text[i] == '\\' && i + 1 < text.size()) ++i;
            value += text[i];
        }
        text.remove_prefix(std::min(i + 1, text.size()));
        return value;
    }

    std::map<std::string, std::string, std::less<>> values_;
};

std::string_view take_scheme(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t,"), text.size()));
    const size_t end = std::min(text.find_first_of(" \t,"), text.size());
    const std::string_view scheme = text.substr(0, end);
    text.remove_prefix(end);
    return scheme;
}

// Nothing: not one of those here.
std::optional<Algorithm> algorithm_of(std::string_view name) {
    if (name.empty() || equal_ignoring_case(name, "MD5")) return Algorithm::kMd5;
    if (equal_ignoring_case(name, "SHA-256") || equal_ignoring_case(name, "SHA256")) return Algorithm::kSha256;
    return std::nullopt;
}

std::string_view algorithm_name(Algorithm algorithm) { return algorithm == Algorithm::kMd5 ? "MD5" : "SHA-256"; }

struct Signed {
    Algorithm algorithm;
    std::string_view realm, nonce, method, uri;
    std::string_view qop{}, count{}, cnonce{};  // empty without qop
};

// RFC 7616, 3.4.1; without qop RFC 2617, 3.2.2.1.
std::string response_of(const Signed& parts, const Credentials& credentials) {
    const std::string secret =
        hex_of(fmt::format("{}:{}:{}", credentials.user, parts.realm, credentials.password), parts.algorithm);
    const std::string request = hex_of(fmt::format("{}:{}", parts.method, parts.uri), parts.algorithm);
    if (parts.qop.empty()) return hex_of(fmt::format("{}:{}:{}", secret, parts.nonce, request), parts.algorithm);
    return hex_of(fmt::format("{}:{}:{}:{}:{}:{}", secret, parts.nonce, parts.count, parts.cnonce, parts.qop, request),
                  parts.algorithm);
}

bool is_for(std::string_view uri, std::string_view url) {
    if (uri == url) return true;
    while (uri.ends_with('/')) uri.remove_suffix(1);
    return url.starts_with(uri) && url.size() > uri.size() && url[uri.size()] == '/' && uri.size() > 1;
}

AuthResult check_digest(const Fields& fields, std::string_view method, std::string_view url, const AuthOptions& options,
                        const Credentials& expected) {
    const auto algorithm = algorithm_of(fields.get("algorithm"));
    const std::string_view uri = fields.get("uri"), response = fields.get("response"), qop = fields.get("qop");
    if (!algorithm || uri.empty() || response.empty() || (!qop.empty() && qop != "auth")) return AuthResult::kMalformed;
    if (!qop.empty() && (fields.get("nc").empty() || fields.get("cnonce").empty())) return AuthResult::kMalformed;
    if (fields.get("realm") != options.realm || !is_for(uri, url)) return AuthResult::kMalformed;
    if (!equal_secretly(fields.get("nonce"), options.nonce)) return AuthResult::kStale;
    Signed parts{*algorithm, options.realm, options.nonce, method, uri};
    if (!qop.empty()) {
        parts.qop = qop;
        parts.count = fields.get("nc");
        parts.cnonce = fields.get("cnonce");
    }
    std::string given(response);
    std::ranges::transform(given, given.begin(),
                           [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c | 0x20) : c; });
    const bool right = equal_secretly(given, response_of(parts, expected));
    return right && equal_secretly(fields.get("username"), expected.user) ? AuthResult::kAccepted : AuthResult::kWrong;
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

}  // namespace

std::vector<std::string> challenges(const AuthOptions& options) {
    std::vector<std::string> fields;
    const auto digest = [&](Algorithm algorithm) {
        fields.push_back(fmt::format("Digest realm={}, nonce={}, qop=\"auth\", algorithm={}", quoted(options.realm),
                                     quoted(options.nonce), algorithm_name(algorithm)));
    };
    // Clients of before RFC 7616 take the last Digest that they see, or refuse an algorithm that they do not know, so
    // there is only MD5, without which most of them could not sign at all.
    if (options.digest) digest(Algorithm::kMd5);
    if (options.basic) fields.push_back(fmt::format("Basic realm={}", quoted(options.realm)));
    return fields;
}

AuthResult check(std::string_view authorization, std::string_view method, std::string_view url,
                 const AuthOptions& options, const Credentials& expected) {
    std::string_view rest = authorization;
    const std::string_view scheme = take_scheme(rest);
    if (options.basic && equal_ignoring_case(scheme, "Basic")) {
        const std::string right = base64(expected.user + ":" + expected.password);
        return equal_secretly(http::trim(rest), right) ? AuthResult::kAccepted : AuthResult::kWrong;
    }
    if (!options.digest || !equal_ignoring_case(scheme, "Digest")) return AuthResult::kMissing;
    return check_digest(Fields(rest), method, url, options, expected);
}

std::vector<Challenge> parse_challenges(const http::Headers& headers) {
    std::vector<Challenge> list;
    for (const auto& [name, value] : headers) {
        if (!equal_ignoring_case(name, "WWW-Authenticate")) continue;
        std::string_view rest = value;
        while (!rest.empty() && list.size() < kMaxChallenges) {
            const size_t before = rest.size();
            const std::string_view scheme = take_scheme(rest);
            const Fields fields(rest);
            if (rest.size() == before) break;
            Challenge challenge;
            challenge.digest = equal_ignoring_case(scheme, "Digest");
            if (!challenge.digest && !equal_ignoring_case(scheme, "Basic")) continue;
            challenge.realm = fields.get("realm");
            challenge.nonce = fields.get("nonce");
            challenge.opaque = fields.get("opaque");
            challenge.stale = equal_ignoring_case(fields.get("stale"), "true");
            challenge.qop = http::list_has(fields.get("qop"), "auth");
            challenge.states_algorithm = fields.has("algorithm");
            const auto algorithm = algorithm_of(fields.get("algorithm"));
            if (challenge.digest && (!algorithm || challenge.nonce.empty())) continue;
            challenge.algorithm = algorithm.value_or(Algorithm::kMd5);
            list.push_back(std::move(challenge));
        }
    }
    return list;
}

const Challenge* strongest(const std::vector<Challenge>& challenges) {
    const auto strength = [](const Challenge& one) {
        return one.digest ? (one.algorithm == Algorithm::kSha256 ? 2 : 1) : 0;
    };
    const auto best = std::ranges::max_element(challenges, {}, strength);
    return best == challenges.end() ? nullptr : &*best;
}

std::string answer(const Challenge& challenge, const Credentials& credentials, std::string_view method,
                   std::string_view url, std::string_view cnonce, uint32_t count) {
    if (!challenge.digest) return "Basic " + base64(credentials.user + ":" + credentials.password);
    Signed parts{challenge.algorithm, challenge.realm, challenge.nonce, method, url};
    const std::string counted = fmt::format("{:08x}", count);
    if (challenge.qop) {
        parts.qop = "auth";
        parts.count = counted;
        parts.cnonce = cnonce;
    }
    std::string out =
        fmt::format("Digest username={}, realm={}, nonce={}, uri={}, response=\"{}\"", quoted(credentials.user),
                    quoted(challenge.realm), quoted(challenge.nonce), quoted(url), response_of(parts, credentials));
    if (challenge.states_algorithm) out += fmt::format(", algorithm={}", algorithm_name(challenge.algorithm));
    if (!challenge.opaque.empty()) out += fmt::format(", opaque={}", quoted(challenge.opaque));
    if (challenge.qop) out += fmt::format(", qop=auth, nc={}, cnonce={}", counted, quoted(cnonce));
    return out;
}

}  // namespace rtsp
