#pragma once
// A session description as text has it (RFC 8866): lines in, sections and attributes out, and back. Knows no
// attribute's meaning (attributes.h), nor that of an offer (negotiation.h). Lenient where clients differ: lines may end
// with LF alone, unknown letters are passed over, o=, s= and t= may be missing. A line that is no "x=..." is an error.
// Descriptions are bounded, so that nobody can make us work long: 64 kB, 64 m= lines, 8192 attributes.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sdp {

inline constexpr size_t kMaxBytes = 64 * 1024;
inline constexpr size_t kMaxMedia = 64;
inline constexpr size_t kMaxAttributes = 8192;  // of the whole description

// "a=name:value", or "a=name".
struct Attribute {
    std::string name;
    std::string value;
    friend bool operator==(const Attribute&, const Attribute&) = default;
};

// What a session and a media section have in common.
struct Section {
    std::string connection;  // "IN IP4 0.0.0.0", of c=
    // Of b=: "AS" and a number.
    std::vector<std::pair<std::string, uint64_t>> bandwidths;
    std::vector<Attribute> attributes;

    // The first of that name; null: there is none.
    const std::string* find(std::string_view name) const;
    bool has(std::string_view name) const { return find(name) != nullptr; }
    void add(std::string_view name, std::string_view value = {});
    friend bool operator==(const Section&, const Section&) = default;
};

struct MediaSection : Section {
    std::string kind;  // "audio", "video", "application"
    uint16_t port = 9;
    std::string protocol;  // "UDP/TLS/RTP/SAVPF"
    std::vector<std::string> formats;
    friend bool operator==(const MediaSection&, const MediaSection&) = default;
};

struct SessionDescription : Section {
    std::string origin = "- 0 0 IN IP4 0.0.0.0";
    std::string name = "-";
    std::string timing = "0 0";
    std::vector<MediaSection> media;

    // kLimit: beyond the bounds. kProtocol: not SDP; the text says which line.
    static base::Result<SessionDescription> parse(std::string_view text);
    std::string write() const;
    friend bool operator==(const SessionDescription&, const SessionDescription&) = default;
};

// "x=value" lines of any text that looks like SDP (fragments have no v=), one after the other.
class LineReader {
  public:
    explicit LineReader(std::string_view text) : rest_(text) {}
    // False at the end. Empty lines are passed over.
    base::Result<bool> next();
    char letter() const { return letter_; }
    std::string_view value() const { return value_; }
    size_t number() const { return number_; }

  private:
    std::string_view rest_;
    char letter_ = 0;
    std::string_view value_;
    size_t number_ = 0;
};

Attribute read_attribute(std::string_view value);
base::Result<MediaSection> read_media_line(std::string_view value);

}  // namespace sdp
