#pragma once
// ICE's user name fragment and password (RFC 8445, 5.3; RFC 8839, 5.4): each side has a pair and announces it in SDP.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ice {

inline constexpr size_t kMinUfrag = 4, kMaxUfrag = 256;
inline constexpr size_t kMinPassword = 22, kMaxPassword = 256;

struct Credentials {
    std::string ufrag;
    std::string password;

    // A fragment of 8 and a password of 24 characters. The caller supplies the random bytes: an attacker who can guess
    // them can take over the session's media.
    static constexpr size_t kRandomBytes = 32;
    static Credentials make(std::span<const uint8_t, kRandomBytes> random) {
        constexpr std::string_view kCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        Credentials made;
        for (uint8_t byte : random.first<8>()) made.ufrag += kCharacters[byte % 64];
        for (uint8_t byte : random.last<24>()) made.password += kCharacters[byte % 64];
        return made;
    }
    // Whether all characters are allowed in SDP.
    static bool is_text(std::string_view text) {
        for (char c : text) {
            const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
            if (!letter && c != '+' && c != '/') return false;
        }
        return true;
    }
    bool valid() const {
        return ufrag.size() >= kMinUfrag && ufrag.size() <= kMaxUfrag && password.size() >= kMinPassword &&
               password.size() <= kMaxPassword && is_text(ufrag) && is_text(password);
    }
};

}  // namespace ice
