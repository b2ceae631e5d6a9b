#pragma once
// The one redaction of this program: it hides secrets in texts that leave for the log, for a reader of the API without
// credentials, and in reports about the configuration. Clients and configurations put secrets into URLs; so what is
// hidden is decided by the form of a text, not by the name of the field that has it.

#include <string>
#include <string_view>

namespace base {

// A text in which "***" stands instead of
// - user and password of URLs, "rtsp://***@host/", up to the last @ of the host's part;
// - what is behind a '?' (also as "%3f", and as "..." of RTMP's "app...key...value") up to the end of the word: a
// space,
//   '"', or a backslash, so that JSON stays JSON;
// - the value of a parameter within a path whose name ends in password, passwd, pwd, token, secret or passphrase.
// Punctuation at the end of a word stays, so that a '?' of prose hides nothing.
std::string redact(std::string_view text);
// Whether redact() would change the text. Cheap: most texts have nothing that is to be hidden.
bool has_secrets(std::string_view text);

// User and password alone: for texts that a reader with credentials may see otherwise in full.
std::string hide_credentials(std::string_view text);
// A URL, or a name, up to its query or fragment, and without user and password: for fields that have one URL.
std::string bare_url(std::string_view url);

// Whether the value of a directive or parameter of that name is a secret: "password", "read_tokens", "passphrase".
bool names_secret(std::string_view name);

inline constexpr std::string_view kHidden = "***";

}  // namespace base
