#include "protocol/sdp/session/read.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "protocol/sdp/description.h"
#include "protocol/sdp/session/control.h"
#include "protocol/sdp/session/read_format.h"
#include "protocol/sdp/text.h"

namespace sdp {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr size_t kMaxWarnings = 2 * kMaxSessionTracks;
// Payload types of an m= line that are looked at: each of them is searched for in all attributes.
constexpr size_t kMaxTypes = 16;

Direction direction_of(const Section& section, Direction otherwise) {
    for (Direction direction : {Direction::kSendRecv, Direction::kSendOnly, Direction::kRecvOnly, Direction::kInactive})
        if (section.has(direction_name(direction))) return direction;
    return otherwise;
}

uint32_t kbps_of(const Section& section) {
    for (const auto& [type, value] : section.bandwidths)
        if (type == "AS") return static_cast<uint32_t>(std::min<uint64_t>(value, 10'000'000));
    return 0;
}

// The payload types in their order of preference; of a line without any, those that rtpmap names.
std::vector<uint8_t> payload_types(const MediaSection& media) {
    std::vector<uint8_t> types;
    auto add = [&](std::string_view text) {
        if (auto type = number<uint8_t>(text, 127); type && types.size() < kMaxTypes) types.push_back(*type);
    };
    for (const std::string& format : media.formats) add(format);
    if (!media.formats.empty()) return types;
    for (const Attribute& attribute : media.attributes) {
        std::string_view value = attribute.value;
        if (attribute.name == "rtpmap") add(take_word(value));
    }
    return types;
}

Result<void> check_section(const MediaSection& media) {
    if (media.kind.empty()) return fail(Code::kProtocol, "a malformed m= line");
    if (media.kind != "video" && media.kind != "audio")
        return fail(Code::kProtocol, base::for_log(media.kind, 20) + ": neither video nor audio");
    if (media.protocol.find("SAVP") != std::string::npos)
        return fail(Code::kProtocol, base::for_log(media.protocol, 20) + ": encrypted");
    if (!media.protocol.starts_with("RTP/"))
        return fail(Code::kProtocol, base::for_log(media.protocol, 20) + ": not RTP");
    return {};
}

// The track of the first payload type that can be used; the error of the first where none can.
Result<SessionTrack> read_track(const MediaSection& media, std::vector<std::string>& warnings) {
    TRY(check_section(media));
    const auto types = payload_types(media);
    if (types.empty()) return fail(Code::kProtocol, "no payload type");
    std::optional<base::Error> reason;
    for (uint8_t type : types) {
        std::vector<std::string> defects;
        auto track = read_format(media, type, defects);
        if (track) {
            for (std::string& defect : defects)
                if (warnings.size() < kMaxWarnings) warnings.push_back(std::move(defect));
            return track;
        }
        if (!reason) reason = std::move(track.error());
    }
    return std::unexpected(*std::move(reason));
}

// Fills a description in.
class SessionReader {
  public:
    SessionReader(const SessionDescription& description, std::string_view base)
        : description_(description), base_(base) {}
    ReadSession read();

  private:
    void read_media(size_t index);
    std::optional<std::string> reject(const SessionTrack& track, const MediaSection& media) const;
    void skip(size_t index, std::string reason) {
        if (session_.skipped.size() < kMaxSessionTracks) session_.skipped.push_back({index, std::move(reason)});
    }

    const SessionDescription& description_;
    std::string_view base_;
    ReadSession session_;
    size_t count_[2] = {};  // of video and of audio
};

ReadSession SessionReader::read() {
    const std::string* control = description_.find("control");
    session_.name = description_.name;
    session_.control = resolve_control(base_, control ? *control : std::string_view());
    if (const std::string* range = description_.find("range")) session_.range = *range;
    for (size_t i = 0; i < description_.media.size(); ++i) read_media(i);
    return std::move(session_);
}

std::optional<std::string> SessionReader::reject(const SessionTrack& track, const MediaSection& media) const {
    const std::string kind = track.kind == media::Kind::kVideo ? "video" : "audio";
    if (media.kind != kind) return kind + " in an m= line of " + media.kind;
    if (session_.tracks.size() == kMaxSessionTracks) return fmt::format("more than {} tracks", kMaxSessionTracks);
    if (count_[static_cast<size_t>(track.kind)] == media::kMaxTracks)
        return fmt::format("more than {} {} tracks", media::kMaxTracks, kind);
    if (!media.has("control") && description_.media.size() > 1) return "no control URL";
    return std::nullopt;
}

void SessionReader::read_media(size_t index) {
    const MediaSection& media = description_.media[index];
    auto track = read_track(media, session_.warnings);
    if (!track) return skip(index, track.error().text());
    if (auto reason = reject(*track, media)) return skip(index, *std::move(reason));
    track->index = static_cast<uint8_t>(count_[static_cast<size_t>(track->kind)]++);
    track->direction = direction_of(media, direction_of(description_, Direction::kSendRecv));
    track->kbps = kbps_of(media);
    if (const std::string* language = media.find("lang")) track->language = base::for_log(*language, 35);
    const std::string* control = media.find("control");
    // The base of tracks is that of the description, whatever the URL of the session is.
    track->control = control ? resolve_control(base_, *control) : session_.control;
    session_.tracks.push_back(*std::move(track));
}

// The track's URL as clients make it that resolve controls by RFC 3986: the query of the session's URL stays behind.
// Empty: that is no other one.
std::string before_query(const ReadSession& session, std::string_view control) {
    const std::string_view base = session.control;
    const size_t query = base.find('?');
    if (query == base.npos || !control.starts_with(base)) return {};
    std::string_view path = base.substr(0, query), rest = control.substr(base.size());
    if (path.ends_with('/')) path.remove_suffix(1);
    if (rest.starts_with('/')) rest.remove_prefix(1);
    return std::string(path).append("/").append(rest).append(base.substr(query));
}

}  // namespace

Result<ReadSession> read_session_text(std::string_view text, std::string_view base) {
    auto description = TRY(SessionDescription::parse(text, Strictness::kLenient));
    return SessionReader(description, base).read();
}

std::optional<size_t> find_track(const ReadSession& session, std::string_view url) {
    for (size_t i = 0; i < session.tracks.size(); ++i)
        if (same_url(session.tracks[i].control, url)) return i;
    for (size_t i = 0; i < session.tracks.size(); ++i)
        if (same_path(session.tracks[i].control, url)) return i;
    for (size_t i = 0; i < session.tracks.size(); ++i)
        if (const std::string other = before_query(session, session.tracks[i].control);
            !other.empty() && same_path(other, url))
            return i;
    // RTP-Info may have the end only.
    for (size_t i = 0; i < session.tracks.size(); ++i)
        if (!url.empty() && session.tracks[i].control.ends_with("/" + std::string(url))) return i;
    if (session.tracks.size() == 1 && same_path(session.control, url)) return 0;
    return std::nullopt;
}

}  // namespace sdp
