#pragma once
// ClientSession: the requests of one RTSP client (RFC 2326) and what follows from their answers: OPTIONS, DESCRIBE,
// SETUP of each track, PLAY, to pull; OPTIONS, ANNOUNCE, SETUP, RECORD, to push; then keep-alive, and TEARDOWN. One
// request is under way at a time. It knows no sockets and no SDP: the caller sends what take_request() returns, passes
// answers and the time, and reads the description. Media may arrive as soon as a track is set up, before PLAY's answer.
//
// Lenient where devices differ: OPTIONS may fail, Content-Base may be missing, an answer may have no CSeq or no
// Session, GET_PARAMETER may not be supported, a nonce may expire at any request.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "protocol/rtsp/auth.h"
#include "protocol/rtsp/headers.h"
#include "protocol/rtsp/message.h"
#include "protocol/rtsp/transport.h"

namespace rtsp {

struct ClientOptions {
    std::string url;  // absolute, without user and password
    Credentials credentials{};
    // How the credentials may be sent: Basic sends the password itself.
    bool basic = true, digest = true;
    std::string cnonce;       // random, hexadecimal
    std::string description;  // SDP to announce; empty: to play
    std::string via{};        // the header field of ANNOUNCE; empty: none
    std::string user_agent = "srs";
    int64_t answer_ms = 10'000;  // an answer that takes longer ends the session
};

// A track to set up.
struct ClientTrack {
    std::string control;   // absolute URL
    Ports client_ports{};  // for UDP
};

class ClientSession {
  public:
    static constexpr size_t kMaxTracks = 16;

    enum class State : uint8_t {
        kOpening,    // OPTIONS, DESCRIBE or ANNOUNCE
        kDescribed,  // waits for set_up()
        kSettingUp,  // SETUP, PLAY or RECORD
        kStreaming,  // PLAY or RECORD was accepted
        kEnding,     // TEARDOWN
        kEnded,
    };
    // What the caller has to do after an answer.
    enum class Event : uint8_t {
        kNone,
        kDescribed,       // read description() against base(), then set_up(); or ANNOUNCE was accepted: set_up()
        kOtherTransport,  // the server refuses this kind of transport: set_up() with the other one, or end()
        kStreaming,
        kRedirected,  // to location(); this session has ended
        kEnded,
    };

    explicit ClientSession(const ClientOptions& options);

    // The next request to send; nothing: wait. To be called after each other call.
    std::optional<Message> take_request(int64_t now_ms);
    // kRefused: the server wants other credentials, or has none that we support. kNotFound, kProtocol, kOther: it
    // answers a request with an error; the text has the request and the status. The session has ended then.
    base::Result<Event> on_response(const Message& response, int64_t now_ms);
    // The answer to a request of the server. TEARDOWN ends the session.
    Message on_request(const Message& request);
    // To be called every second or so. kTimeout: the server does not answer.
    base::Result<void> on_timer(int64_t now_ms);

    // After kDescribed or kOtherTransport. tracks: 1 to kMaxTracks, in the order in which they are set up. tcp: as
    // interleaved frames, on channels from 0 on. session_url: of PLAY, RECORD and TEARDOWN.
    void set_up(std::vector<ClientTrack> tracks, bool tcp, std::string session_url);
    // Sends TEARDOWN if there is a session.
    void end();

    State state() const { return state_; }
    const std::string& description() const { return description_; }
    // The URL that control URLs are relative to: Content-Base, Content-Location, or the one of the request.
    const std::string& base() const { return base_; }
    const std::string& location() const { return location_; }
    // RTP-Info of PLAY's answer.
    const std::vector<RtpInfo>& rtp_info() const { return rtp_info_; }
    // What the server chose for a track; null: it is not set up.
    const Transport* transport(size_t track) const { return track < set_up_.size() ? &set_up_[track] : nullptr; }
    // The track of an interleaved channel, and whether it is that of RTCP.
    struct Channel {
        size_t track;
        bool rtcp;
    };
    std::optional<Channel> channel(uint8_t number) const;
    int64_t keep_alive_ms() const;
    // The server was sent the password itself.
    bool uses_basic() const { return challenge_ && !challenge_->digest; }

  private:
    // The request under way.
    struct Pending {
        Method method = Method::kOptions;
        uint32_t cseq = 0;
        int64_t sent_ms = 0;
        int challenges = 0;  // 401 answers to it
    };

    bool announces() const { return !options_.description.empty(); }
    void plan(Method method) { next_ = method; }
    Message make_request(Method method);
    std::string url_of(Method method) const;
    base::Result<Event> on_challenge(const Message& response);
    base::Result<Event> on_success(const Message& response);
    base::Result<Event> on_error(const Message& response);
    base::Result<Event> on_setup(const Message& response);
    Event refuse_transport(bool set_up);
    Event after_teardown();
    void on_description(const Message& response);
    void after_options(const Message& response);
    base::Result<Event> ended(base::Code code, std::string text);

    ClientOptions options_;
    State state_ = State::kOpening;
    std::optional<Method> next_;  // to be sent
    std::optional<Pending> pending_;
    int challenges_ = 0;  // to the planned request
    uint32_t cseq_ = 0;

    std::optional<Challenge> challenge_;
    uint32_t nonce_count_ = 0;

    std::string description_, base_, location_, session_url_;
    std::optional<SessionField> session_;
    std::vector<ClientTrack> tracks_;
    bool tcp_ = true;
    std::vector<Transport> set_up_;  // of the first tracks
    bool tears_down_to_retry_ = false;
    std::vector<RtpInfo> rtp_info_;
    bool has_get_parameter_ = false;
    int64_t heard_ms_ = 0;  // when the last request was sent or answered
};

}  // namespace rtsp
