#include "protocol/sdp/description.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/sdp/text.h"

namespace sdp {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr size_t kMaxFormats = 256;
constexpr size_t kMaxBandwidths = 8;

std::string for_log(std::string_view text) { return std::string(text.substr(0, 60)); }

void write_section(std::string& out, const Section& section) {
    for (const auto& [type, value] : section.bandwidths) out += fmt::format("b={}:{}\r\n", type, value);
}

void write_attributes(std::string& out, const Section& section) {
    for (const Attribute& attribute : section.attributes) {
        out += "a=";
        out += attribute.name;
        if (!attribute.value.empty()) out += ':';
        out += attribute.value;
        out += "\r\n";
    }
}

Result<void> read_bandwidth(Section& section, std::string_view value) {
    std::string_view rest = value;
    std::string_view type = take_word(rest, ':');
    auto amount = number<uint64_t>(rest, UINT64_MAX);
    if (type.empty() || !amount) return fail(Code::kProtocol, fmt::format("'b={}' is no TYPE:NUMBER", for_log(value)));
    if (section.bandwidths.size() < kMaxBandwidths) section.bandwidths.emplace_back(type, *amount);
    return {};
}

}  // namespace

const std::string* Section::find(std::string_view name) const {
    for (const Attribute& attribute : attributes)
        if (attribute.name == name) return &attribute.value;
    return nullptr;
}

void Section::add(std::string_view name, std::string_view value) {
    attributes.push_back({std::string(name), std::string(value)});
}

Result<bool> LineReader::next() {
    for (;;) {
        if (rest_.empty()) return false;
        ++number_;
        size_t end = rest_.find('\n');
        std::string_view line = rest_.substr(0, end);
        rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
        while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (line.empty()) continue;
        if (line.find_first_of(std::string_view("\0\r", 2)) != line.npos)
            return fail(Code::kProtocol, fmt::format("line {} has a control character", number_));
        if (line.size() < 2 || line[1] != '=' || line[0] < 'a' || line[0] > 'z')
            return fail(Code::kProtocol, fmt::format("line {} is no line of SDP", number_));
        letter_ = line[0];
        value_ = line.substr(2);
        return true;
    }
}

Attribute read_attribute(std::string_view value) {
    size_t colon = value.find(':');
    if (colon == value.npos) return {std::string(value), {}};
    return {std::string(value.substr(0, colon)), std::string(value.substr(colon + 1))};
}

Result<MediaSection> read_media_line(std::string_view value, Strictness strictness) {
    MediaSection media;
    std::string_view rest = value;
    media.kind = take_word(rest);
    std::string_view ports = take_word(rest);
    auto port = number<uint16_t>(ports.substr(0, ports.find('/')), 65535);
    // With RTSP it says nothing: SETUP does.
    if (!port && strictness == Strictness::kLenient && !ports.empty()) port = 0;
    media.protocol = take_word(rest);
    if (media.kind.empty() || !port || media.protocol.empty())
        return fail(Code::kProtocol, fmt::format("'m={}' is no KIND PORT PROTOCOL FORMATS", for_log(value)));
    media.port = *port;
    while (!rest.empty()) {
        std::string_view format = take_word(rest);
        if (format.empty()) continue;
        if (media.formats.size() == kMaxFormats)
            return fail(Code::kLimit, fmt::format("more than {} formats in an m= line", kMaxFormats));
        media.formats.emplace_back(format);
    }
    return media;
}

namespace {

// Puts lines into the sections of a description.
class Parser {
  public:
    explicit Parser(Strictness strictness) : strictness_(strictness) {}
    // Takes the line that was read last.
    Result<void> take(const LineReader& lines);
    SessionDescription session;

  private:
    Result<void> add_attribute(std::string_view value);
    Result<void> add_media(std::string_view value);
    Section& section() { return session.media.empty() ? static_cast<Section&>(session) : session.media.back(); }

    const Strictness strictness_;
    size_t attributes_ = 0;
};

Result<void> Parser::take(const LineReader& lines) {
    const std::string_view value = lines.value();
    const auto where = [&] { return fmt::format("line {}", lines.number()); };
    switch (lines.letter()) {
        case 'o':
            session.origin = value;
            break;
        case 's':
            session.name = value;
            break;
        case 't':
            session.timing = value;
            break;
        case 'c':
            section().connection = value;
            break;
        case 'b':
            TRY(read_bandwidth(section(), value), where());
            break;
        case 'a':
            if (value.empty() || value.front() == ':')
                return fail(Code::kProtocol, where() + " is an attribute without a name");
            TRY(add_attribute(value));
            break;
        case 'm':
            if (session.media.size() == kMaxMedia)
                return fail(Code::kLimit, fmt::format("more than {} m= lines", kMaxMedia));
            TRY(add_media(value), where());
            break;
        default:  // i, u, e, p, r, z, k, and unknown types
            break;
    }
    return {};
}

Result<void> Parser::add_attribute(std::string_view value) {
    if (++attributes_ > kMaxAttributes)
        return fail(Code::kLimit, fmt::format("more than {} attributes", kMaxAttributes));
    section().attributes.push_back(read_attribute(value));
    return {};
}

Result<void> Parser::add_media(std::string_view value) {
    auto media = read_media_line(value, strictness_);
    // The attributes that follow are not those of the section before.
    session.media.push_back(media ? *std::move(media) : MediaSection());
    if (!media) return std::unexpected(std::move(media.error()));
    return {};
}

}  // namespace

Result<SessionDescription> SessionDescription::parse(std::string_view text, Strictness strictness) {
    if (text.size() > sdp::kMaxBytes)
        return fail(Code::kLimit, fmt::format("a description of {} bytes; at most {}", text.size(), sdp::kMaxBytes));
    const bool lenient = strictness == Strictness::kLenient;
    Parser parser(strictness);
    LineReader lines(text);
    bool first = true;
    for (;;) {
        auto more = lines.next();
        if (!more && lenient) continue;
        if (!TRY(std::move(more))) break;
        if (first && !lenient && (lines.letter() != 'v' || lines.value() != "0"))
            return fail(Code::kProtocol, "it does not begin with v=0");
        first = false;
        auto taken = parser.take(lines);
        if (!taken && (!lenient || taken.error().code() == Code::kLimit))
            return std::unexpected(std::move(taken.error()));
    }
    if (first) return fail(Code::kProtocol, "an empty description");
    return std::move(parser.session);
}

std::string SessionDescription::write() const {
    std::string out = fmt::format("v=0\r\no={}\r\ns={}\r\n", origin, name);
    if (!connection.empty()) out += fmt::format("c={}\r\n", connection);
    write_section(out, *this);
    out += fmt::format("t={}\r\n", timing);
    write_attributes(out, *this);
    for (const MediaSection& section : media) {
        out += fmt::format("m={} {} {}", section.kind, section.port, section.protocol);
        for (const std::string& format : section.formats) out += " " + format;
        out += "\r\n";
        if (!section.connection.empty()) out += fmt::format("c={}\r\n", section.connection);
        write_section(out, section);
        write_attributes(out, section);
    }
    return out;
}

}  // namespace sdp
