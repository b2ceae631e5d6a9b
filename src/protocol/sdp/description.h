#pragma once
// The text form of a session description (RFC 8866): parses lines into sections and attributes, and writes them. It
// does not interpret attributes (media_facts.h) or offers (negotiation.h). Lenient where clients differ: lines may end
// with LF alone, unknown line types are ignored, o=, s= and t= may be missing. A line that is not "x=..." is an error.
// Descriptions are limited to 64 kB, 64 m= lines and 8192 attributes, which bounds the processing time.

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
    std::string connection;  // "IN IP4 0.0.0.0", from c=
    // From b=: "AS" and a number.
    std::vector<std::pair<std::string, uint64_t>> bandwidths;
    std::vector<Attribute> attributes;

    // The value of the first attribute of that name; null: none.
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

// kLenient, for devices that speak RTSP: malformed lines are skipped. A malformed m= line becomes a section without
// kind.
enum class Strictness : uint8_t { kStrict, kLenient };

struct SessionDescription : Section {
    std::string origin = "- 0 0 IN IP4 0.0.0.0";
    std::string name = "-";
    std::string timing = "0 0";
    std::vector<MediaSection> media;

    // kLimit: a limit is exceeded. kProtocol: not SDP; the text names the line.
    static base::Result<SessionDescription> parse(std::string_view text, Strictness strictness = Strictness::kStrict);
    std::string write() const;
    friend bool operator==(const SessionDescription&, const SessionDescription&) = default;
};

// Reads the "x=value" lines of an SDP text one by one. Fragments, which have no v=, are accepted too.
class LineReader {
  public:
    explicit LineReader(std::string_view text) : rest_(text) {}
    // Reads the next line. False at the end. Empty lines are skipped.
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
base::Result<MediaSection> read_media_line(std::string_view value, Strictness strictness = Strictness::kStrict);

}  // namespace sdp
