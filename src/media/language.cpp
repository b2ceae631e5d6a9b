#include "media/language.h"

#include <algorithm>

namespace media {
namespace {

// ISO 639-1 and the code of ISO 639-2 (the terminological one) for the same language.
constexpr std::string_view kCodes =
    "aa aar ab abk ae ave af afr ak aka am amh an arg ar ara as asm av ava ay aym az aze ba bak be bel bg bul bh bih "
    "bi bis bm bam bn ben bo bod br bre bs bos ca cat ce che ch cha co cos cr cre cs ces cu chu cv chv cy cym da dan "
    "de deu dv div dz dzo ee ewe el ell en eng eo epo es spa et est eu eus fa fas ff ful fi fin fj fij fo fao fr fra "
    "fy fry ga gle gd gla gl glg gn grn gu guj gv glv ha hau he heb hi hin ho hmo hr hrv ht hat hu hun hy hye hz her "
    "ia ina id ind ie ile ig ibo ii iii ik ipk io ido is isl it ita iu iku ja jpn jv jav ka kat kg kon ki kik kj kua "
    "kk kaz kl kal km khm kn kan ko kor kr kau ks kas ku kur kv kom kw cor ky kir la lat lb ltz lg lug li lim ln lin "
    "lo lao lt lit lu lub lv lav mg mlg mh mah mi mri mk mkd ml mal mn mon mr mar ms msa mt mlt my mya na nau nb nob "
    "nd nde ne nep ng ndo nl nld nn nno no nor nr nbl nv nav ny nya oc oci oj oji om orm or ori os oss pa pan pi pli "
    "pl pol ps pus pt por qu que rm roh rn run ro ron ru rus rw kin sa san sc srd sd snd se sme sg sag si sin sk slk "
    "sl slv sm smo sn sna so som sq sqi sr srp ss ssw st sot su sun sv swe sw swa ta tam te tel tg tgk th tha ti tir "
    "tk tuk tl tgl tn tsn to ton tr tur ts tso tt tat tw twi ty tah ug uig uk ukr ur urd uz uzb ve ven vi vie vo vol "
    "wa wln wo wol xh xho yi yid yo yor za zha zh zho zu zul ";
constexpr size_t kRow = 7;
static_assert(kCodes.size() % kRow == 0);

// Pairs of the bibliographic code of ISO 639-2 and the terminological one, where they differ.
constexpr std::string_view kBibliographic =
    "alb sqi arm hye baq eus bur mya chi zho cze ces dut nld fre fra geo kat ger deu gre ell ice isl mac mkd mao mri "
    "may msa per fas rum ron slo slk tib bod wel cym ";
constexpr size_t kBibliographicRow = 8;
static_assert(kBibliographic.size() % kBibliographicRow == 0);

Language three_letters(std::string_view code) { return {code[0], code[1], code[2]}; }

Language from_two_letters(std::string_view code) {
    for (size_t at = 0; at < kCodes.size(); at += kRow)
        if (kCodes.substr(at, 2) == code) return three_letters(kCodes.substr(at + 3, 3));
    return {};
}

}  // namespace

Language language_of(std::string_view tag) {
    const std::string_view subtag = tag.substr(0, tag.find_first_of("-_"));
    if (subtag.size() != 2 && subtag.size() != 3) return {};
    std::string code;
    for (char c : subtag) {
        const char small = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c;
        if (small < 'a' || small > 'z') return {};
        code += small;
    }
    if (code.size() == 2) return from_two_letters(code);
    return code == "und" ? Language{} : three_letters(code);
}

std::string_view two_letters(std::string_view code) {
    if (code.size() != 3) return {};
    for (size_t at = 0; at < kBibliographic.size(); at += kBibliographicRow)
        if (kBibliographic.substr(at, 3) == code) code = kBibliographic.substr(at + 4, 3);
    for (size_t at = 0; at < kCodes.size(); at += kRow)
        if (kCodes.substr(at + 3, 3) == code) return kCodes.substr(at, 2);
    return {};
}

std::string language_tag(std::string_view written) {
    std::string language(written);
    std::ranges::replace(language, '_', '-');
    // "und", "mul", "zxx" and the like name none.
    for (const std::string_view none : {"und", "mul", "mis", "zxx"})
        if (language == none) return {};
    // Subtags of letters and digits; the first is the language.
    size_t length = 0;  // of the subtag
    bool first = true;
    for (const char c : language) {
        if (c == '-') {
            if (length < (first ? 2u : 1u)) return {};
            length = 0;
            first = false;
        } else if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) && (first || c < '0' || c > '9')) {
            return {};
        } else if (++length > 8) {
            return {};
        }
    }
    if (length < (first ? 2u : 1u)) return {};
    // The code of two letters where there is one.
    const std::string code = language.substr(0, language.find('-'));
    const std::string_view letters = two_letters(code);
    return letters.empty() ? language : std::string(letters).append(language.substr(code.size()));
}

std::string to_string(const Language& language) {
    return language == Language{} ? std::string() : std::string(language.begin(), language.end());
}

}  // namespace media
