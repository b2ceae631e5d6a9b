#pragma once
// RtmpDialog: an RTMP client as the load tool needs it (Adobe RTMP 1.0, 7.2): handshake, connect, createStream, play or
// publish; then acknowledgements, pings, and the end of the stream. It has no queue and never waits: the next command
// goes out when the answer to the last one is in.

#include <array>
#include <optional>
#include <string_view>

#include "load/chunk_skimmer.h"
#include "load/dialog.h"
#include "protocol/amf/value.h"
#include "protocol/rtmp/handshake.h"

namespace load {

// What a publisher announces before its first message: what ffmpeg does too, so most frames are one chunk.
inline constexpr uint32_t kPublishChunkSize = 60'000;

class RtmpDialog final : public Dialog, private ControlSink {
  public:
    RtmpDialog(rtmp::Url url, Role role, RandomFill random) : url_(std::move(url)), role_(role) {
        handshake_.emplace(random, false);
    }

    void start(std::vector<uint8_t>& out) override;
    base::Result<void> feed(std::span<const uint8_t> bytes, MediaSink& sink, std::vector<uint8_t>& out) override;

  private:
    void on_media(const MediaMessage& message) override { sink_->on_media(message); }
    base::Result<void> on_control(uint8_t type, uint32_t timestamp, std::span<const uint8_t> body) override;
    base::Result<void> on_command(std::span<const uint8_t> body);
    base::Result<void> on_result(double transaction, const std::vector<amf::Value>& values);
    base::Result<void> on_status(const amf::Value& info);
    void on_user_control(std::span<const uint8_t> body);
    void acknowledge();

    void connect();
    void create_stream();
    void play_or_publish();
    void send_command(uint32_t stream_id, std::initializer_list<amf::Value> values);
    void send_control(uint8_t type, std::initializer_list<uint32_t> words, std::optional<uint16_t> event = {});

    rtmp::Url url_;
    Role role_;
    std::optional<rtmp::ClientHandshake> handshake_;  // gone when done
    ChunkSkimmer skimmer_;
    MediaSink* sink_ = nullptr;            // during feed()
    std::vector<uint8_t>* out_ = nullptr;  // during feed() and start()
    uint32_t ack_window_ = 0;              // bytes; 0: the server wants none
    uint64_t received_ = 0;
    uint64_t acknowledged_ = 0;
};

}  // namespace load
