#pragma once
// Language: the code of three letters of ISO 639-2, as MPEG-TS (ISO/IEC 13818-1, 2.6.18) and MP4 (ISO/IEC 14496-12,
// 8.4.2.3) carry it. It has no room for regions, scripts and variants.

#include <array>
#include <string>
#include <string_view>

namespace media {

// Small letters; all 0: not known.
using Language = std::array<char, 3>;

// tag: BCP 47 or ISO 639-2 ("en-GB", "eng"), of any length. Two letters become the terminological code, three stay.
// Not known for "und", for two letters that ISO 639-1 does not have, and for what is no such tag.
Language language_of(std::string_view tag);
// The code of two letters that ISO 639-1 has for one of three letters in ISO 639-2, the terminological ("deu") or the
// bibliographic one ("ger"), in small letters; empty: there is none.
std::string_view two_letters(std::string_view code);
// The tag of RFC 5646 for a language in ISO 639-2 or RFC 5646, as playlists have it; empty: it is neither, or none is
// meant.
std::string language_tag(std::string_view language);
// "eng"; empty: not known.
std::string to_string(const Language& language);

}  // namespace media
