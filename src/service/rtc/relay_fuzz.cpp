// A WebRTC publisher and its players together, in simulated time. The input is a sequence of steps: packets of the
// publisher with sequence numbers near to its last one or far from it, retransmissions with other bytes, losses, NACKs
// and other RTCP of players, time that passes, players that join and leave, publishers that follow each other with
// other tracks, some with layers of simulcast, of which players want one, and which are streams whose names others take
// now and then. FakeSession is the filter of what each player
// gets: no SRTP index of an SSRC has two contents. A packet must be RTP that was negotiated, and what the stream keeps
// is bounded and counted.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/bytes.h"
#include "base/clock.h"
#include "live/hub/owner_testing.h"
#include "protocol/rtcp/writer.h"
#include "protocol/rtp/ntp.h"
#include "runtime/loop/fuzz_testing.h"
#include "service/rtc/config.h"
#include "service/rtc/media_testing.h"
#include "service/rtc/play/player.h"
#include "service/rtc/publish/publisher.h"

namespace {

using namespace service::rtc;
using service::rtc::testing::FakeSession;

constexpr size_t kMaxSteps = 300;
constexpr uint8_t kVideoType = 102, kRtxType = 103, kAudioType = 111, kVp8Type = 96;
constexpr uint32_t kFirstSsrc = 0x1000;
constexpr uint8_t kRidId = 4, kRepairedRidId = 6;
constexpr std::array<std::string_view, 3> kRids{"q", "h", "f"};

// One end of the stream, with a session of its own.
template <class T>
struct End {
    FakeSession session;
    std::unique_ptr<T> media;
    int64_t tick_ms = 0;
    bool bridged = false;

    explicit operator bool() const { return media != nullptr; }
    void tick(int64_t now_ms) {
        if (!media || now_ms < tick_ms) return;
        media->on_tick(now_ms);
        tick_ms = now_ms + media->tick_ms();
    }
    void close() {
        if (media) media->on_closed();
        media.reset();
    }
};

struct PublishedTrack {
    uint32_t ssrc = 0, rtx_ssrc = 0, timestamp = 0;
    uint16_t sequence = 0, rtx_sequence = 0;
    uint8_t type = 0;
    std::string_view rid{};  // of a layer
};

struct PublisherEnd : End<Publisher> {
    std::vector<PublishedTrack> tracks;
};

struct PlayerEnd : End<Player> {
    std::vector<SendFormat> formats;
    std::vector<uint16_t> newest;  // of each format
};

// Of a layer's stream: another publisher, and a reader.
struct LayerEnd final : live::RtpSink {
    bool on_packets(int64_t) override {
        position = std::max(position, stream->rtp_lane().ring().begin());
        for (; position < stream->rtp_lane().ring().end(); ++position)
            CHECK(stream->rtp_lane().ring().at(position).track < stream->rtp_lane().tracks().size());
        return false;
    }
    void prefetch_needs() const override {}
    void leave() {
        if (stream) stream->rtp_lane().leave(*this, live::RtpLane::Wants::kPlay);
        stream.reset();
    }

    live::testing::Owner owner;
    live::Publication publication;
    base::Ref<live::Stream> stream;  // that it reads
    uint64_t position = 0;
};

class Relay {
  public:
    Relay(std::span<const uint8_t> input) : time_(runtime::testing::fuzz_time()), in_(input) {
        vhost_.get<VhostConfig>().layers_as_streams = true;
    }
    ~Relay() {
        for (PublisherEnd& publisher : publishers_) publisher.close();
        for (PlayerEnd& player : players_) player.close();
        for (LayerEnd& layer : layers_) layer.leave();
        for (LayerEnd& layer : layers_) layer.publication.end();
        CHECK(registry_.size() == 0);
        CHECK(lane_.players() == 0 && !stream_->published());
        time_.settle();
        CHECK(stream_->ref_count() == 1);
    }

    void run() {
        for (size_t steps = 0; steps < kMaxSteps && in_.left() > 0; ++steps) {
            step(in_.u8());
            time_.settle();
            check();
        }
    }

  private:
    static constexpr size_t kPublishers = 2, kPlayers = 3;

    void step(uint8_t what) {
        PublisherEnd& publisher = publishers_[what >> 4 & 1];
        PlayerEnd& player = players_[(what >> 4) % kPlayers];
        switch (what & 15) {
            case 0:
                return publisher ? publish(publisher, in_.u8()) : connect(publisher, in_.u8());
            case 1:
                return player ? nack(player) : join(player, in_.u8());
            case 2:
                return pass(in_.u8() * 20);
            case 3:
                return pass(in_.u8());
            case 4:
                return retransmit(publisher);
            case 5:
                return raw_rtp(publisher);
            case 6:
                return rtcp(publisher);
            case 7:
                return rtcp(player);
            case 8:
                publisher.close();
                return connect(publisher, in_.u8());
            case 9:
                player.close();
                return join(player, in_.u8());
            case 10:
                return player.close();
            case 11:
                return publisher.close();
            case 12:
                player.session.full = !player.session.full;
                return;
            case 13:
                return change_ssrc(publisher);
            case 14:
                return use_layer(what >> 4);
            default:
                return publish(publisher, what >> 4);
        }
    }

    void use_layer(uint8_t how) {
        const size_t index = how % kRids.size();
        LayerEnd& end = layers_[index];
        const live::StreamKey key{"v", "live", "s@" + std::string(kRids[index])};
        if (how >= 8) {
            if (end.publication) return end.publication.end();
            if (auto got = registry_.find_or_create(key, {})->acquire(end.owner, (how & 4) != 0))
                end.publication = *std::move(got);
        } else if (end.stream) {
            end.leave();
        } else if ((end.stream = registry_.find(key))) {
            end.stream->rtp_lane().join(end, live::RtpLane::Wants::kPlay);
        }
    }

    MediaParts parts(FakeSession& session) {
        return {session, registry_, codec_log_, stream_->key(), snapshot_, vhost_, {}, {}, {}};
    }

    void connect(PublisherEnd& end, uint8_t form) {
        end.session.ended.clear();
        PublishFormat format;
        format.twcc_id = form & 1 ? 5 : 0;
        ReceiveFormat video{.track = {}, .nack = (form & 2) == 0, .pli = (form & 4) != 0, .fir = true, .mid = "0"};
        video.track = {.kind = media::Kind::kVideo, .codec = media::Codec::kH264, .payload_type = kVideoType};
        video.rtx_payload_type = kRtxType;
        ReceiveFormat audio{.track = {}, .nack = (form & 8) != 0, .mid = "1"};
        audio.track = {.kind = media::Kind::kAudio,
                       .codec = media::Codec::kOpus,
                       .clock_rate = 48'000,
                       .channels = 2,
                       .payload_type = kAudioType,
                       .ptime_ms = form & 8 ? 60 : 20};
        ReceiveFormat vp8{.track = {}, .mid = "2"};
        vp8.track = {.kind = media::Kind::kVideo, .codec = media::Codec::kVp8, .payload_type = kVp8Type};
        format.rid_id = kRidId;
        format.repaired_rid_id = form & 0x80 ? kRepairedRidId : uint8_t{0};
        switch (form & 0x40 ? 4 : form >> 4 & 3) {
            case 0:
                format.tracks = {video, audio};
                break;
            case 1:
                format.tracks = {audio};
                break;
            case 2:
                format.tracks = {vp8, video, audio};
                break;
            case 4:
                for (const std::string_view rid : kRids) {
                    ReceiveFormat& layer = format.tracks.emplace_back(form & 0x10 ? video : vp8);
                    layer.nack = true;
                    layer.rid = rid;
                }
                format.tracks.push_back(audio);
                break;
            default:
                format.tracks = {audio, video};
        }
        end.tracks.clear();
        for (const ReceiveFormat& track : format.tracks)
            end.tracks.push_back({.ssrc = next_ssrc_++,
                                  .rtx_ssrc = next_ssrc_++,
                                  .sequence = static_cast<uint16_t>(form << 8),
                                  .type = track.track.payload_type,
                                  .rid = end_rid(track)});
        end.media = std::make_unique<Publisher>(parts(end.session), stream_, format, 77);
        if (!end.media->prepare()) return end.media.reset();
        end.media->on_connected(runtime::now_ms());
        end.tick_ms = 0;
    }

    void join(PlayerEnd& end, uint8_t form) {
        end.session.ended.clear();
        end.session.index_check = {};  // another session has other keys
        SendFormat video{.kind = media::Kind::kVideo,
                         .codec = form & 4 ? media::Codec::kVp8 : media::Codec::kH264,
                         .ssrc = 1,
                         .rtx_ssrc = 2,
                         .payload_type = 100,
                         .rtx_payload_type = form & 1 ? uint8_t{101} : kNoPayloadType,
                         .mid_id = static_cast<uint8_t>(form & 16 ? 4 : 0),
                         .playout_delay_id = static_cast<uint8_t>(form & 8 ? 5 : 0),
                         .send_time_id = static_cast<uint8_t>(form & 8 ? 6 : 0),
                         .nack = true,
                         .mid = "v"};
        SendFormat audio{.kind = media::Kind::kAudio,
                         .codec = media::Codec::kOpus,
                         .ssrc = 3,
                         .payload_type = 102,
                         .red_payload_type = form & 8 ? uint8_t{103} : kNoPayloadType,
                         .send_time_id = static_cast<uint8_t>(form & 8 ? 6 : 0),
                         .nack = (form & 2) != 0};
        end.formats = form & 32 ? std::vector{video} : std::vector{video, audio};
        end.newest.assign(end.formats.size(), 0);
        MediaParts wanted = parts(end.session);
        if (form & 64) wanted.layer.rid = kRids[form % 3];
        if (form & 128) wanted.layer.max_height = 16;
        end.media =
            std::make_unique<Player>(std::move(wanted), stream_, end.formats, static_cast<uint16_t>(form * 300));
        end.media->on_connected(runtime::now_ms());
        end.tick_ms = 0;
    }

    // A payload that no other packet has.
    void add_payload(std::vector<uint8_t>& packet, uint8_t type, uint8_t form) {
        static constexpr uint8_t kNalTypes[] = {0x65, 0x41, 0x67, 0x7c, 0x78, 0x41, 0x41, 0x41};
        if (type == kVideoType) packet.push_back(kNalTypes[form & 7]);
        // Keyframes of VP8 have one of four sizes.
        if (type == kVp8Type) packet.insert(packet.end(), {0x10, static_cast<uint8_t>(form & 1)});
        if (type == kVp8Type && !(form & 1))
            packet.insert(packet.end(), {0, 0, 0x9d, 1, 0x2a, static_cast<uint8_t>(16 << (form >> 1 & 3)), 0, 16, 0});
        const uint32_t number = ++payloads_;
        for (int shift = 0; shift < 32; shift += 8) packet.push_back(static_cast<uint8_t>(number >> shift));
        packet.resize(packet.size() + (form & 0x80 ? 900 : 20));
    }

    void publish(PublisherEnd& end, uint8_t form) {
        if (!end || end.tracks.empty()) return;
        PublishedTrack& track = end.tracks[form % end.tracks.size()];
        const uint8_t step = in_.u8();
        // Mostly the next one; some are lost, late, or of another numbering.
        const uint16_t newest = track.sequence;
        uint16_t sequence = static_cast<uint16_t>(newest + 1);
        if (step >= 0xf0)
            sequence = in_.u16();
        else if (step >= 0xc0)
            sequence = static_cast<uint16_t>(newest + (step & 0x3f) * 50);
        else if (step >= 0x80)
            sequence = static_cast<uint16_t>(newest - (step & 0x3f));
        else
            sequence = static_cast<uint16_t>(newest + 1 + (step >> 5));
        if (step < 0x80 || step >= 0xc0) track.sequence = sequence;
        if (form & 8) track.timestamp += (step & 0x1f) * 3000u;
        send(end, track, sequence, form);
    }

    static std::string_view end_rid(const ReceiveFormat& track) {
        const auto at = std::ranges::find(kRids, track.rid);
        return at == std::end(kRids) ? std::string_view() : *at;
    }

    // The header of a packet that names its layer, or not.
    static std::vector<uint8_t> header(const rtp::Header& header, uint8_t id, std::string_view rid) {
        std::vector<rtp::Extension> extensions;
        if (!rid.empty()) extensions.push_back({id, {reinterpret_cast<const uint8_t*>(rid.data()), rid.size()}});
        std::vector<uint8_t> packet(rtp::written_header_size(extensions));
        rtp::write_header(packet.data(), header, extensions);
        return packet;
    }

    void send(PublisherEnd& end, PublishedTrack& track, uint16_t sequence, uint8_t form) {
        std::vector<uint8_t> packet = header({(form & 16) != 0, track.type, sequence, track.timestamp, track.ssrc},
                                             kRidId, form % 8 == 7 ? std::string_view() : track.rid);
        add_payload(packet, track.type, form >> 4 | (form & 0x80));
        end.media->on_rtp(packet, runtime::now_us());
    }

    // RTX for one of the last packets, or for one from before: the bytes are always others.
    void retransmit(PublisherEnd& end) {
        if (!end || end.tracks.empty()) return;
        const uint8_t back = in_.u8();
        PublishedTrack& track = end.tracks[back % end.tracks.size()];
        if (track.type != kVideoType) return send(end, track, static_cast<uint16_t>(track.sequence - back), back);
        std::vector<uint8_t> packet = header({false, kRtxType, track.rtx_sequence++, track.timestamp, track.rtx_ssrc},
                                             kRepairedRidId, back & 1 ? track.rid : std::string_view());
        packet.resize(packet.size() + 2);
        base::put_u16(&packet[packet.size() - 2], static_cast<uint16_t>(track.sequence - back));
        add_payload(packet, track.type, back);
        end.media->on_rtp(packet, runtime::now_us());
    }

    void change_ssrc(PublisherEnd& end) {
        if (!end || end.tracks.empty()) return;
        PublishedTrack& track = end.tracks[in_.u8() % end.tracks.size()];
        track.ssrc = next_ssrc_++;
        track.rtx_ssrc = next_ssrc_++;
    }

    void raw_rtp(PublisherEnd& end) {
        const auto bytes = some();
        std::vector<uint8_t> packet(bytes.begin(), bytes.end());
        if (end) end.media->on_rtp(packet, runtime::now_us());
    }
    template <class T>
    void rtcp(T& end) {
        const auto bytes = some();
        std::vector<uint8_t> compound(bytes.begin(), bytes.end());
        if (end) end.media->on_rtcp(compound, runtime::now_us());
    }
    std::span<const uint8_t> some() { return in_.bytes(std::min<size_t>(in_.u8(), in_.left())); }

    void nack(PlayerEnd& end) {
        const uint8_t what = in_.u8(), back = in_.u8(), count = in_.u8();
        const size_t track = what % end.formats.size();
        std::vector<uint16_t> sequences;
        for (int i = 0; i <= count % 32; ++i)
            sequences.push_back(
                static_cast<uint16_t>(end.newest[track] - back * (what & 8 ? 20 : 1) - (count % 32) + i));
        uint8_t out[1200];
        rtcp::Writer writer(out);
        if (what & 32)
            report(writer, end.formats[track].ssrc, what, back, count);
        else if (what & 16)
            (void)writer.pli(9, end.formats[track].ssrc);
        else
            (void)writer.nack(9, end.formats[track].ssrc, sequences);
        std::vector<uint8_t> compound(writer.written().begin(), writer.written().end());
        end.media->on_rtcp(compound, runtime::now_us());
    }

    // What tells of a short link: losses, a round trip, REMB.
    void report(rtcp::Writer& writer, uint32_t ssrc, uint8_t what, uint8_t round_trip, uint8_t fraction_lost) {
        const uint64_t now = rtp::ntp_of_unix_us(base::wall_ms() * 1000);
        const uint64_t sent = now - (uint64_t{round_trip} << 32) / 256;  // ms by 4
        const rtcp::ReportBlock block{
            .ssrc = ssrc, .fraction_lost = fraction_lost, .last_sr = static_cast<uint32_t>(sent >> 16)};
        (void)writer.receiver_report(9, std::span(&block, 1));
        if (what & 64) (void)writer.remb(9, uint64_t{in_.u8()} * 8'000, std::span(&ssrc, 1));
    }

    void pass(int64_t ms) {
        constexpr int64_t kStepMs = 20;
        for (; ms > 0; ms -= kStepMs) {
            time_.pass_ms(std::min(ms, kStepMs));
            for (PublisherEnd& publisher : publishers_) publisher.tick(runtime::now_ms());
            for (PlayerEnd& player : players_) player.tick(runtime::now_ms());
        }
    }

    void check() {
        for (PublisherEnd& publisher : publishers_) {
            publisher.session.rtcp.clear();
            if (!publisher.session.ended.empty()) publisher.close();
        }
        size_t joined = 0;
        for (PlayerEnd& player : players_) {
            check_sent(player);
            if (!player.session.ended.empty()) player.close();
            joined += player.media != nullptr;
        }
        CHECK(lane_.players() == joined);
        const live::RtpRing& ring = lane_.ring();
        CHECK(ring.packets() <= live::RtpRingLimits().packets && ring.bytes() <= live::RtpRingLimits().bytes);
    }

    // Blocks of that payload type, and a primary one (RFC 2198).
    static bool is_red(std::span<const uint8_t> payload, uint8_t payload_type) {
        size_t blocks = 0, bytes = 0, at = 0;
        for (; at + 4 <= payload.size() && payload[at] & 0x80; at += 4, ++blocks) {
            if ((payload[at] & 0x7f) != payload_type) return false;
            bytes += (payload[at + 2] & 3u) << 8 | payload[at + 3];
        }
        return blocks <= live::RedPayloads::kOlder && at < payload.size() && payload[at] == payload_type &&
               at + 1 + bytes <= payload.size();
    }

    static void check_sent(PlayerEnd& player) {
        for (const FakeSession::Packet& packet : player.session.sent) {
            const auto view = rtp::PacketView::parse(packet.bytes);
            CHECK(view && view->sequence() == static_cast<uint16_t>(packet.index) && packet.index < uint64_t{1} << 40);
            bool known = false;
            for (size_t i = 0; i < player.formats.size(); ++i) {
                const SendFormat& format = player.formats[i];
                known |= view->ssrc() == format.ssrc && view->payload_type() == format.payload_type;
                known |= view->ssrc() == format.ssrc && view->payload_type() == format.red_payload_type &&
                         is_red(view->payload(), format.payload_type);
                known |= format.has_rtx() && view->ssrc() == format.rtx_ssrc &&
                         view->payload_type() == format.rtx_payload_type && view->payload().size() >= 2;
                if (view->ssrc() == format.ssrc) player.newest[i] = view->sequence();
            }
            CHECK(known);
        }
        player.session.sent.clear();
        player.session.rtcp.clear();
    }

    runtime::testing::SimulatedTime& time_;
    base::ByteReader in_;
    config::SnapshotPtr snapshot_ = config::default_snapshot();
    config::Vhost vhost_ = *snapshot_->vhost("v");
    live::Registry registry_;
    runtime::LogLimit codec_log_;
    base::Ref<live::Stream> stream_ =
        base::make_ref<live::Stream>(nullptr, live::StreamKey{"v", "live", "s"}, live::LiveOptions{});
    live::RtpLane& lane_ = stream_->rtp_lane();
    PublisherEnd publishers_[kPublishers];
    PlayerEnd players_[kPlayers];
    LayerEnd layers_[kRids.size()];
    uint32_t next_ssrc_ = kFirstSsrc;
    uint32_t payloads_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Relay({data, size}).run();
    return 0;
}
