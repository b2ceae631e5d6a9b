#pragma once
// Accounts: the traffic of each stream and each vhost, over all protocols: bytes in from its publisher, bytes out to
// all players, and the rates of the last half minute. A session is entered into its stream's account
// (Session::enter_stream). Its bytes are added when the accounts are read, never as they flow, so the hot path has no
// cost. A stream's account lives as long as a session is in it, a vhost's as long as the server.

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/ref.h"
#include "base/stream_key.h"
#include "net/sessions/session_type.h"
#include "net/sessions/traffic.h"

namespace net {

// kbit/s.
struct Rates {
    uint64_t received = 0;
    uint64_t sent = 0;
};

// Converts bytes in ms to kbit/s.
constexpr uint64_t kbit_per_second(uint64_t bytes, int64_t ms) {
    return ms <= 0 ? 0 : (bytes * 8 + static_cast<uint64_t>(ms) / 2) / static_cast<uint64_t>(ms);
}

// The rates of a growing pair of counters over the current period and the previous one, together 15 to 30 s.
class RateWindow {
  public:
    explicit RateWindow(int64_t now_ms) : began_ms_(now_ms) {}
    void begin_period(const Traffic& total, int64_t now_ms);
    Rates rates(const Traffic& total, int64_t now_ms) const;

  private:
    Traffic mark_;    // the total when the period began
    Traffic before_;  // traffic of the previous period
    int64_t began_ms_;
    int64_t before_ms_ = 0;
};

// The same name gives the same id in every run: "vid-" and eleven letters and digits.
std::string stable_id(std::string_view name);
std::string stream_id(const base::StreamKey& stream);
// "vhost/app/name", without the vhost if it is the default one: as SRS writes it in the API and to hooks.
std::string stream_url(const base::StreamKey& stream);
// The client's parameters as hooks report them, as in SRS: those of WebRTC without the question mark.
std::string_view reported_param(SessionType type, std::string_view param);

class Accounts;
class Session;
class SessionObserver;

class VhostAccount {
  public:
    VhostAccount(std::string name, int64_t now_ms) : name_(std::move(name)), id_(stable_id(name_)), window_(now_ms) {}
    const std::string& name() const { return name_; }
    const std::string& id() const { return id_; }
    const Traffic& traffic() const { return traffic_; }
    Rates rates(int64_t now_ms) const { return window_.rates(traffic_, now_ms); }
    void add(const Traffic& more, SessionType type);
    // Traffic of sessions of that type; traffic outside any session counts as HLS players'.
    const Traffic& traffic_of(SessionType type) const { return by_type_[type.index()]; }

  private:
    friend class Accounts;
    friend class Session;
    friend class StreamAccount;
    std::string name_;
    std::string id_;
    Traffic traffic_;
    std::array<Traffic, SessionType::kMax> by_type_{};
    RateWindow window_;
};

class StreamAccount : public base::RefCounted<StreamAccount> {
  public:
    StreamAccount(Accounts& accounts, VhostAccount& vhost, const base::StreamKey& key, int64_t now_ms);
    ~StreamAccount();

    const VhostAccount& vhost() const { return vhost_; }
    const base::StreamKey& key() const { return key_; }
    const std::string& id() const { return id_; }
    const Traffic& traffic() const { return traffic_; }
    Rates rates(int64_t now_ms) const { return window_.rates(traffic_, now_ms); }
    const Session* publisher() const { return publisher_; }  // null: no session publishes
    // A session publishes, or did since there is this account.
    bool had_publisher() const { return had_publisher_; }
    uint32_t players() const { return players_; }
    uint32_t players_of(SessionType type) const { return players_by_type_[type.index()]; }
    // The most players at one time since the last call.
    uint32_t take_peak() const { return std::exchange(peak_players_, players_); }

    void add(const Traffic& more, SessionType type);

  private:
    friend class Accounts;
    friend class Session;
    Accounts& accounts_;
    VhostAccount& vhost_;
    const base::StreamKey key_;
    const std::string id_;
    void set_publisher(const Session* session) {
        publisher_ = session;
        had_publisher_ = true;
    }
    void add_player(SessionType type) {
        ++players_by_type_[type.index()];
        peak_players_ = std::max(peak_players_, ++players_);
    }
    void remove_player(SessionType type) {
        --players_by_type_[type.index()];
        --players_;
    }
    const Session* publisher_ = nullptr;
    bool had_publisher_ = false;
    uint32_t players_ = 0;
    mutable uint32_t peak_players_ = 0;
    std::array<uint32_t, SessionType::kMax> players_by_type_{};
    Traffic traffic_;
    RateWindow window_;
};

class Accounts {
  public:
    Accounts() = default;
    Accounts(const Accounts&) = delete;

    // The account of that stream, created if missing. The vhost's name is one from the configuration.
    base::Ref<StreamAccount> open(const base::StreamKey& stream);
    // Traffic of a stream outside any session: of HLS players without a context. If no session is in the stream, it is
    // counted for the vhost alone.
    void add(const base::StreamKey& stream, const Traffic& more);
    // Null: no session is in the stream.
    StreamAccount* find(const base::StreamKey& stream) const;
    // Null: no session was ever in one of its streams.
    const VhostAccount* find_vhost(std::string_view name) const;
    size_t streams() const { return streams_.size(); }
    // In order of their names.
    void for_each(const std::function<void(const StreamAccount&)>& visit) const;
    void for_each_vhost(const std::function<void(const VhostAccount&)>& visit) const;
    void begin_period(int64_t now_ms);
    void set_observer(SessionObserver* observer) { observer_ = observer; }

  private:
    friend class StreamAccount;
    SessionObserver* observer_ = nullptr;
    VhostAccount& open_vhost(const std::string& name);

    std::map<std::string, std::unique_ptr<VhostAccount>, std::less<>> vhosts_;
    std::map<base::StreamKey, StreamAccount*> streams_;
};

}  // namespace net
