#pragma once
// AudioConverter: an audio transcoder on a thread (runtime/compute.h), since a hundred streams would fill the loop. Of
// one converter one job is under way at a time, so that packets stay in order; the loop never waits. All converters
// share one coroutine, which delivers, lives as long as there are any and gives way to others. What waits is bounded:
// more is dropped, counted, and told of in the log. A converter may go while its job is under way, whose work is then
// for nothing.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/ref.h"
#include "convert/audio/audio_transcoder.h"

namespace convert {

class AudioConverter {
  public:
    // Packets: 20 seconds. A bridge that begins hands over what the lane holds since the last keyframe at once.
    static constexpr size_t kMaxWaiting = 1024;
    static constexpr size_t kMaxWaitingBytes = 4 * 1024 * 1024;
    static constexpr size_t kMaxPacketBytes = 64 * 1024;  // no codec has larger ones

    // Gets what became of a packet, in order, from the converters' coroutine; must not yield. header: OpusHead or
    // AudioSpecificConfig. It may destroy the converter.
    using Deliver = std::function<void(std::vector<EncodedAudio>& packets, const base::Slice& header)>;

    // name: of the stream, for the log.
    AudioConverter(std::string name, AudioTranscoderOptions options, Deliver deliver);
    ~AudioConverter();  // nothing is delivered any more
    AudioConverter(const AudioConverter&) = delete;

    // Never yields. time_us: of the packet's first sample.
    void push(base::Slice packet, int64_t time_us);

    bool failed() const;  // the codecs could not be opened: it says so in the log, and swallows all
    uint64_t dropped() const;
    size_t waiting_bytes() const;

  private:
    struct State;
    class Worker;
    base::Ref<State> state_;
    base::Ref<Worker> worker_;
};

}  // namespace convert
