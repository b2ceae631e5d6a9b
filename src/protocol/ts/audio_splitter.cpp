#include "protocol/ts/audio_splitter.h"

#include <algorithm>

#include "media/aac.h"
#include "media/audio_headers.h"

namespace ts {
namespace {

using media::Codec;
using Bytes = std::span<const uint8_t>;

struct FoundFrame {
    size_t header = 0;  // bytes before the payload that do not belong to it
    size_t size = 0;    // including the header
    int64_t samples = 0;
    int sample_rate = 1;
    base::Slice config;  // of AAC
};

// G.711.
constexpr int kSampleRate = 8'000;
constexpr size_t kMaxSamples = 320;

bool is_dolby(Codec codec) { return codec == Codec::kAc3 || codec == Codec::kEac3; }

base::Result<FoundFrame> read_adts(Bytes bytes) {
    auto adts = TRY(media::parse_adts(bytes));
    if (adts.channel_config == 0) return base::fail(base::Code::kProtocol, "ADTS with its channels in the frames");
    if (adts.raw_blocks > 1) return base::fail(base::Code::kProtocol, "several raw blocks in an ADTS frame");
    return FoundFrame{adts.header_size, adts.frame_size, 1024, adts.sample_rate,
                      media::make_aac_config(adts.object_type, adts.sample_rate, adts.channel_config)};
}

// With the dependent substreams that follow it (ATSC A/52, E.1.3.1.1): they are more channels of the same frame.
base::Result<FoundFrame> read_dolby(Codec codec, Bytes bytes) {
    auto first = TRY(media::parse_ac3(bytes));
    if (first.frame_size == 0 || first.sample_rate <= 0) return base::fail(base::Code::kProtocol, "no size");
    size_t size = first.frame_size;
    while (first.enhanced && size < bytes.size()) {
        const auto next = media::parse_ac3(bytes.subspan(size));
        constexpr uint8_t kDependent = 1;
        if (!next || !next->enhanced || bytes[size + 2] >> 6 != kDependent || next->frame_size == 0) break;
        if (next->frame_size > bytes.size() - size) break;
        size += next->frame_size;
    }
    const int64_t samples = media::audio_frame_samples(codec, bytes);
    return FoundFrame{0, size, samples > 0 ? samples : 1536, first.sample_rate, {}};
}

base::Result<FoundFrame> read_frame(Codec codec, Bytes bytes) {
    if (codec == Codec::kAac) return read_adts(bytes);
    if (is_dolby(codec)) return read_dolby(codec, bytes);
    auto mpeg = TRY(media::parse_mpeg_audio(bytes));
    if (mpeg.frame_size == 0) return base::fail(base::Code::kProtocol, "MPEG audio of free format");
    return FoundFrame{0, mpeg.frame_size, mpeg.samples, mpeg.sample_rate, {}};
}

// The longest header that is read here, in bytes.
constexpr size_t kLongestHeader = 9;

// The distance to the next byte that may begin a frame.
size_t next_sync(Codec codec, Bytes bytes) {
    const uint8_t first = is_dolby(codec) ? 0x0b : 0xff;
    auto found = std::find(bytes.begin() + 1, bytes.end(), first);
    return static_cast<size_t>(found - bytes.begin());
}

}  // namespace

void AudioSplitter::restart() {
    rest_.clear();
    next_.reset();
    synced_ = false;
}

// Behind it another one begins, as far as there are bytes.
bool AudioSplitter::is_confirmed(Bytes bytes, size_t frame_size) const {
    const Bytes behind = bytes.subspan(frame_size);
    return synced_ || behind.size() < kLongestHeader || read_frame(codec_, behind).has_value();
}

void AudioSplitter::take_samples(const base::Slice& packet, std::vector<AudioFrame>& out) {
    if (!next_) return void(++unreadable_);
    for (base::Slice rest = packet; rest.size() > 0;) {
        const size_t samples = std::min(rest.size(), kMaxSamples);
        out.push_back({*next_, rest.sub(0, samples), {}});
        *next_ += media::from_ticks(static_cast<int64_t>(samples), kSampleRate);
        rest = rest.sub(samples);
    }
}

void AudioSplitter::take(const base::Slice& packet, std::optional<media::Time> time, std::vector<AudioFrame>& out) {
    if (codec_ == Codec::kPcmAlaw || codec_ == Codec::kPcmUlaw) {
        if (time) next_ = time;
        return take_samples(packet, out);
    }
    base::Slice bytes = packet;
    size_t carried = rest_.size();  // bytes before the packet's
    if (carried > 0) {
        rest_.insert(rest_.end(), packet.begin(), packet.end());
        bytes = base::Slice::copy(rest_);
        rest_.clear();
    }
    const auto advance = [&](size_t count) {
        bytes = bytes.sub(count);
        carried -= std::min(carried, count);
    };
    while (bytes.size() > 0) {
        if (carried == 0 && time) next_ = *std::exchange(time, std::nullopt);
        auto frame = read_frame(codec_, bytes);
        if (frame ? frame->size > bytes.size() : bytes.size() < kLongestHeader) {
            if (bytes.size() <= kMaxRest) rest_.assign(bytes.begin(), bytes.end());
            return;
        }
        if (!frame || frame->size <= frame->header || !is_confirmed(bytes, frame->size)) {
            ++unreadable_;
            synced_ = false;
            advance(next_sync(codec_, bytes));
            continue;
        }
        synced_ = true;
        if (next_) {
            out.push_back({*next_, bytes.sub(frame->header, frame->size - frame->header), std::move(frame->config)});
            *next_ += media::from_ticks(frame->samples, frame->sample_rate);
        }
        advance(frame->size);
    }
}

}  // namespace ts
