#include "service/srt/config.h"

#include <fmt/format.h>

#include "config/row_builder.h"
#include "service/srt/ingest.h"

namespace service::srt {
namespace {

using S = ServerConfig;
using V = VhostConfig;

constexpr size_t kMinPassphrase = 10, kMaxPassphrase = 80;

void rows_of_server(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope server{"srt_server", kOfServer<S>};
    rows.push_back(row(server, "enabled", &S::enabled, none(), kRestart, "The SRT server."));
    rows.push_back(row(server, "listen", &S::listen, none(), kRestart, "UDP addresses for SRT."));
    rows.push_back(row(server, "latency", &S::latency, milliseconds(0, 60'000), kLive,
                       "How late a packet may come, which is the time for its repair, in both directions. The larger "
                       "of this and of what the caller has counts."));
    rows.push_back(row(server, "recvlatency", &S::recvlatency, milliseconds(-1, 60'000), kLive,
                       "The same for what callers publish; -1: latency."));
    rows.push_back(row(server, "peerlatency", &S::peerlatency, milliseconds(-1, 60'000), kLive,
                       "The same for players; -1: latency."));
    rows.push_back(row(server, "tlpktdrop", &S::tlpktdrop, none(), kLive,
                       "A packet that did not come in time is given up. Otherwise a session ends when so much waits "
                       "for one packet that recvbuf is full."));
    rows.push_back(row(server, "tsbpdmode", &S::tsbpdmode, none(), kLive,
                       "Packets are released by their timestamps. No effect: packets in order need not wait, and "
                       "others wait for their repair."));
    rows.push_back(row(server, "maxbw", &S::maxbw, bytes(-1, 2e9), kLive,
                       "Maximum bytes per second that are sent to one player; -1: no limit; 0: a quarter more than the "
                       "stream's rate."));
    rows.push_back(row(server, "mss", &S::mss, bytes(400, 1500), kLive,
                       "Largest packet that callers may send, with the headers of IP and UDP."));
    rows.push_back(row(server, "payloadsize", &S::payloadsize, bytes(188, 1456), kLive,
                       "Largest payload of a packet. No effect: players get at most 1,316 bytes, for which all of "
                       "them have room."));
    rows.push_back(row(server, "connect_timeout", &S::connect_timeout, milliseconds(100, 60'000), kLive,
                       "Time for a caller's handshake, with the hooks that are asked."));
    rows.push_back(row(server, "peer_idle_timeout", &S::peer_idle_timeout, milliseconds(500, 600'000), kLive,
                       "A peer that sends nothing for this time is considered lost."));
    rows.push_back(
        row(server, "default_app", &S::default_app, none(), kLive, "The app of a stream id that names none."));
    rows.push_back(row(server, "default_streamid", &S::default_streamid, none(), kLive,
                       "The stream id of a caller that gives none."));
    rows.push_back(row(server, "default_mode", &S::default_mode, one_of({"request", "publish"}), kLive,
                       "What a caller does whose stream id is only a name."));
    rows.push_back(row(server, "passphrase", &S::passphrase, none(), kLive,
                       "Callers must encrypt with a key derived from it; 10 to 80 bytes.", "a-long-secret"));
    rows.push_back(row(server, "pbkeylen", &S::pbkeylen, bytes(0, 32), kLive,
                       "Key length that callers without one of their own use: 16, 24 or 32; 0: 16."));
    rows.push_back(row(server, "recvbuf", &S::recvbuf, bytes(65'536, 1e9), kLive,
                       "Bytes of packets of one publisher that wait for others."));
    rows.push_back(row(server, "sendbuf", &S::sendbuf, bytes(0, 1e9), kLive,
                       "Send buffer. No effect: the players of a stream share its last packets."));
    rows.push_back(row(server, "mix_correct", &S::mix_correct, none(), kLive,
                       "Audio and video in order of time. No effect: play.mix_correct says it for all protocols."));
    rows.push_back(row(server, "sei_filter", &S::sei_filter, none(), kLive,
                       "SEI units are dropped. No effect: they are kept, as they may be captions."));
    rows.push_back(
        row(server, "max_handshakes", &S::max_handshakes, count(1, 100'000), kLive,
            "Maximum number of callers that are being admitted, and the same of one address divided by ten."));
}

void rows_of_vhost(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope vhost{"vhost/srt", kOfVhost<V>};
    rows.push_back(row(vhost, "enabled", &V::enabled, none(), kLive, "SRT for this vhost."));
    rows.push_back(row(vhost, "srt_to_rtmp", &V::srt_to_rtmp, none(), kLive,
                       "Streams published by SRT can be played by the other protocols. No effect: that is always "
                       "so."));
    rows.push_back(row(vhost, "passphrase", &V::passphrase, none(), kLive,
                       "As in srt_server, for the callers of this vhost.", "a-long-secret"));
    rows.push_back(row(vhost, "passphrase_by_hook", &V::passphrase_by_hook, none(), kLive,
                       "The hooks on_publish and on_play are asked before the passphrase is checked, and may say which "
                       "one the caller must have; see doc/hooks.md."));
    rows.push_back(row(vhost, "pbkeylen", &V::pbkeylen, bytes(0, 32), kLive, "As in srt_server."));
}

void add_rows(std::vector<config::Row>& rows) {
    rows_of_server(rows);
    rows_of_vhost(rows);
    add_ingest_rows(rows);
}

bool is_key_length(int bytes) { return bytes == 0 || bytes == 16 || bytes == 24 || bytes == 32; }

bool is_passphrase(const std::string& text) {
    return text.empty() || (text.size() >= kMinPassphrase && text.size() <= kMaxPassphrase);
}

// What is accepted for the sake of older configurations.
void warn_of_no_effect(config::Checks& checks, const S& server) {
    if (!server.enabled) return;
    const S initial;
    if (!server.tsbpdmode)
        checks.warning("srt_server/tsbpdmode", "tsbpdmode off has no effect: packets in order do not wait");
    if (server.payloadsize != initial.payloadsize)
        checks.warning("srt_server/payloadsize",
                       fmt::format("payloadsize {} has no effect: players get at most 1316 bytes", server.payloadsize));
    if (server.sendbuf != initial.sendbuf)
        checks.warning(
            "srt_server/sendbuf",
            fmt::format("sendbuf {} has no effect: players share the last packets of their stream", server.sendbuf));
    if (!server.mix_correct)
        checks.warning("srt_server/mix_correct", "mix_correct off has no effect: play.mix_correct has");
    if (!server.sei_filter) checks.warning("srt_server/sei_filter", "sei_filter off has no effect: SEI units are kept");
}

void check(config::Checks& checks) {
    const auto& server = checks.snapshot().get<S>();
    if (!is_passphrase(server.passphrase))
        checks.error("srt_server/passphrase", "a passphrase of SRT has 10 to 80 bytes");
    if (!is_key_length(server.pbkeylen)) checks.error("srt_server/pbkeylen", "pbkeylen is 0, 16, 24 or 32");
    warn_of_no_effect(checks, server);
}

void check_vhost(config::Checks& checks, config::Vhost& vhost) {
    check_ingests(checks, vhost);
    const auto& of = vhost.get<V>();
    if (!is_passphrase(of.passphrase))
        checks.error(vhost, "vhost/srt/passphrase", "a passphrase of SRT has 10 to 80 bytes");
    if (!is_key_length(of.pbkeylen)) checks.error(vhost, "vhost/srt/pbkeylen", "pbkeylen is 0, 16, 24 or 32");
    if (of.enabled && !checks.snapshot().get<S>().enabled)
        checks.warning(vhost, "vhost/srt/enabled",
                       fmt::format("srt of vhost {} does nothing while srt_server is not enabled", vhost.name));
    if (!of.srt_to_rtmp)
        checks.warning(vhost, "vhost/srt/srt_to_rtmp",
                       "srt_to_rtmp off has no effect: every protocol plays what is published by SRT");
}

const config::ListenAddresses* listen(const config::Snapshot& snapshot) {
    const auto& server = snapshot.get<S>();
    return server.enabled ? &server.listen : nullptr;
}

}  // namespace

const std::string& passphrase_of(const ServerConfig& server, const VhostConfig& vhost) {
    return vhost.passphrase.empty() ? server.passphrase : vhost.passphrase;
}

config::Section section() {
    return {.service = "srt",
            .add_rows = add_rows,
            .listeners = {{"srt", "srt_server/listen", "srt", "srt", config::Transport::kUdp, listen}},
            .named_blocks = ingest_blocks(),
            .check = check,
            .check_vhost = check_vhost};
}

}  // namespace service::srt
