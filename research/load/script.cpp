#include "load/script.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/bytes.h"
#include "load/media_sink.h"
#include "load/rtmp_dialog.h"
#include "protocol/flv/reader.h"
#include "protocol/rtmp/chunk_writer.h"
#include "protocol/rtmp/message.h"

namespace load {

namespace {

constexpr std::string_view kMark =
    "\x9d"
    "bench\xe3\x5a";
constexpr size_t kVideoMarkAt = 5 + 4 + 1;  // behind the body's header, the NAL unit's length and its type
constexpr size_t kAudioMarkAt = 2;
constexpr size_t kChunkHeader = 12;  // basic header and type 0 message header
constexpr uint32_t kVideoFrameMs = 40;
constexpr uint32_t kFramesPerGop = 50;
constexpr uint32_t kAudioBytes = 90;
constexpr double kAudioFrameMs = 1024 * 1000.0 / 44100;

// Of a 640x360 Baseline stream: parameter sets that a server may parse.
constexpr uint8_t kAvcHeader[] = {0x17, 0x00, 0x00, 0x00, 0x00, 0x01, 0x42, 0xc0, 0x1e, 0xff, 0xe1, 0x00,
                                  0x19, 0x67, 0x42, 0xc0, 0x1e, 0xd9, 0x00, 0xa0, 0x2f, 0xf9, 0x70, 0x11,
                                  0x00, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00, 0x03, 0x00, 0x32, 0x0f, 0x16,
                                  0x2e, 0x48, 0x01, 0x00, 0x05, 0x68, 0xcb, 0x83, 0xcb, 0x20};
constexpr uint8_t kAacHeader[] = {0xaf, 0, 0x12, 0x10};

uint32_t chunk_stream(uint8_t type) {
    if (type == rtmp::kVideo) return rtmp::kVideoChunkStream;
    return type == rtmp::kAudio ? rtmp::kAudioChunkStream : rtmp::kDataChunkStream;
}

// type: of a message; first: its body's first byte.
bool is_keyframe(uint8_t type, uint8_t first) { return type == rtmp::kVideo && (first >> 4 & 7) == 1; }

void put_mark(uint8_t* at, uint32_t number) {
    std::memcpy(at, kMark.data(), kMark.size());
    base::put_u32(at + kMark.size(), number);
}

std::vector<uint8_t> marked_frame(bool key, uint32_t size, uint32_t number) {
    std::vector<uint8_t> body(size, 0x55);
    const uint8_t head[] = {static_cast<uint8_t>(key ? 0x17 : 0x27), 1, 0, 0, 0};
    std::memcpy(body.data(), head, sizeof head);
    base::put_u32(body.data() + 5, size - 9);
    body[9] = key ? 0x65 : 0x41;
    put_mark(body.data() + kVideoMarkAt, number);
    return body;
}

std::vector<uint8_t> marked_audio(uint32_t number) {
    std::vector<uint8_t> body(kAudioBytes, 0x55);
    body[0] = 0xaf;
    body[1] = 1;
    put_mark(body.data() + kAudioMarkAt, number);
    return body;
}

}  // namespace

void Script::add(uint8_t type, uint32_t timestamp_ms, std::span<const uint8_t> body) {
    auto offset = static_cast<uint32_t>(bytes_.size());
    rtmp::append_message(bytes_, chunk_stream(type), type, 1, timestamp_ms, body, kPublishChunkSize);
    messages_.push_back({timestamp_ms, offset, static_cast<uint32_t>(bytes_.size()) - offset, type});
}

base::Result<Script> Script::from_flv(std::span<const uint8_t> file) {
    Script script;
    flv::Reader reader;
    reader.feed(file);
    bool headers = true;
    while (auto tag = TRY(reader.next())) {
        if (tag->body.empty() || tag->timestamp > kMaxTimestamp) continue;
        MediaMessage seen{tag->type, tag->timestamp, static_cast<uint32_t>(tag->body.size()), tag->body.bytes()};
        if (headers && seen.is_frame()) {
            headers = false;
            script.repeat_from_ = static_cast<uint32_t>(script.messages_.size());
        }
        script.add(tag->type, tag->timestamp, tag->body);
    }
    if (headers) return base::fail(base::Code::kConfig, "the file has no frames");
    script.finish();
    return script;
}

Script Script::marked(uint32_t kbps, uint32_t seconds) {
    Script script;
    script.add(rtmp::kVideo, 0, kAvcHeader);
    script.add(rtmp::kAudio, 0, kAacHeader);
    script.repeat_from_ = 2;
    // A keyframe weighs as much as eight others.
    double gop_bytes = kbps * 125.0 * kFramesPerGop * kVideoFrameMs / 1000;
    double audio = kAudioBytes * kFramesPerGop * kVideoFrameMs / kAudioFrameMs;
    auto small = static_cast<uint32_t>(std::max(64.0, (gop_bytes - audio) / (kFramesPerGop + 7)));
    double next_audio_ms = 0;
    for (uint32_t frame = 0; frame * kVideoFrameMs < seconds * 1000; ++frame) {
        uint32_t ms = frame * kVideoFrameMs;
        for (; next_audio_ms < ms; next_audio_ms += kAudioFrameMs) {
            script.add(rtmp::kAudio, static_cast<uint32_t>(next_audio_ms),
                       marked_audio(static_cast<uint32_t>(script.messages_.size())));
        }
        bool key = frame % kFramesPerGop == 0;
        script.add(rtmp::kVideo, ms,
                   marked_frame(key, key ? small * 8 : small, static_cast<uint32_t>(script.messages_.size())));
    }
    script.finish();
    return script;
}

// A round lasts from its first frame's time to its last one's and one video frame more.
void Script::finish() {
    uint32_t first = messages_[repeat_from_].timestamp_ms;
    uint32_t last = first;
    size_t gop = 0, sum = 0;
    for (size_t i = repeat_from_; i < messages_.size(); ++i) {
        const Message& message = messages_[i];
        last = std::max(last, message.timestamp_ms);
        if (is_keyframe(message.type, bytes_[message.offset + kChunkHeader])) gop = 0;
        gop += message.size;
        sum += gop;
    }
    round_ms_ = last - first + kVideoFrameMs;
    average_gop_ = sum / (messages_.size() - repeat_from_);
}

double Script::kbps() const {
    size_t bytes = bytes_.size() - messages_[repeat_from_].offset;
    return static_cast<double>(bytes) * 8 / round_ms_;
}

std::span<const uint8_t> Script::encode(uint32_t index, uint32_t timestamp_ms, uint32_t stream_id) {
    const Message& message = messages_[index];
    uint8_t* header = bytes_.data() + message.offset;
    base::put_u24(header + 1, timestamp_ms);
    uint8_t* id = header + 8;  // the only little-endian field
    for (int i = 0; i < 4; ++i) id[i] = static_cast<uint8_t>(stream_id >> (8 * i));
    return {header, message.size};
}

std::vector<uint8_t> Script::body(uint32_t index) const {
    const Message& message = messages_[index];
    auto rest = std::span(bytes_).subspan(message.offset, message.size);
    std::vector<uint8_t> out;
    for (size_t header = kChunkHeader; header < rest.size(); header = 1) {
        auto chunk = rest.subspan(header, std::min<size_t>(rest.size() - header, kPublishChunkSize));
        out.insert(out.end(), chunk.begin(), chunk.end());
        rest = rest.subspan(header + chunk.size());
    }
    return out;
}

int64_t mark_of(uint8_t type, std::span<const uint8_t> head) {
    size_t least = type == rtmp::kVideo ? kVideoMarkAt : kAudioMarkAt;
    if (head.size() < least) return -1;
    // Some servers put parameter sets before a keyframe's own NAL unit.
    auto found = std::search(head.begin() + static_cast<ptrdiff_t>(least), head.end(), kMark.begin(), kMark.end(),
                             [](uint8_t byte, char mark) { return byte == static_cast<uint8_t>(mark); });
    if (head.end() - found < static_cast<ptrdiff_t>(kMark.size() + 4)) return -1;
    return base::ByteReader({found + static_cast<ptrdiff_t>(kMark.size()), head.end()}).u32();
}

base::Result<std::vector<uint8_t>> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return base::fail_errno(fmt::format("opening {}", path), errno);
    return std::vector<uint8_t>(std::istreambuf_iterator<char>(file), {});
}

}  // namespace load
