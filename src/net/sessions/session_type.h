#pragma once
// The type of a session: its protocol, and whether it publishes or plays. Types are numbers, because accounts have
// counters for each. The types that SRS has are here; a service may add others.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace net {

class SessionType {
  public:
    static constexpr size_t kMax = 32;

    // kNone: before it is known. kRtmp: neither publishes nor plays yet. kRtmpForward: this server publishes to another
    // one.
    static const SessionType kNone, kRtmp, kRtmpPlay, kFmlePublish, kFlashPublish, kHaivisionPublish, kFlvPlay,
        kHlsPlay, kRtcPlay, kRtcPublish, kRtmpForward, kHttp;

    // Adds a type of clients, for the whole process; at most kMax in all. name: as the API shows it, a literal.
    static SessionType add(std::string_view name, bool publishes);
    static size_t count();
    // kNone: none has that name.
    static SessionType find(std::string_view name);
    // index < count().
    static constexpr SessionType at(size_t index) { return SessionType(static_cast<uint8_t>(index)); }

    constexpr SessionType() = default;
    constexpr size_t index() const { return index_; }
    friend constexpr auto operator<=>(const SessionType&, const SessionType&) = default;

  private:
    constexpr explicit SessionType(uint8_t index) : index_(index) {}
    uint8_t index_ = 0;
};

inline constexpr SessionType SessionType::kNone{0}, SessionType::kRtmp{1}, SessionType::kRtmpPlay{2},
    SessionType::kFmlePublish{3}, SessionType::kFlashPublish{4}, SessionType::kHaivisionPublish{5},
    SessionType::kFlvPlay{6}, SessionType::kHlsPlay{7}, SessionType::kRtcPlay{8}, SessionType::kRtcPublish{9},
    SessionType::kRtmpForward{10}, SessionType::kHttp{11};

// As the API shows it: "rtmp-play".
std::string_view session_type_name(SessionType type);
// Publishes or plays.
constexpr bool is_client(SessionType type) {
    return type != SessionType::kNone && type != SessionType::kRtmp && type != SessionType::kHttp;
}
bool publishes(SessionType type);

}  // namespace net
