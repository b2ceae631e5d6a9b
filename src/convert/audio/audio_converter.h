#pragma once
// AudioConverter: an audio transcoder on a thread (runtime/threads/compute.h): a hundred would occupy the loop.
// A converter has one job under way at a time, so that packets stay in order; the loop never waits. All converters
// share one coroutine for delivery, which lives while there are converters, and yields to others. The queue is bounded:
// packets beyond its limits are dropped, counted, and logged. A converter may be destroyed while its job is under way;
// the result of the job is then discarded.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/ref.h"
#include "convert/audio/audio_transcoder.h"

namespace convert {

class AudioConverter {
  public:
    // Packets: 20 seconds. A new bridge pushes all packets of the lane since the last keyframe at once.
    static constexpr size_t kMaxWaiting = 1024;
    static constexpr size_t kMaxWaitingBytes = 4 * 1024 * 1024;
    static constexpr size_t kMaxPacketBytes = 64 * 1024;  // no codec has larger ones

    // Called with the output of a packet, in order, from the converters' coroutine; must not yield. header: OpusHead or
    // AudioSpecificConfig. It may destroy the converter.
    using Deliver = std::function<void(std::vector<EncodedAudio>& packets, const base::Slice& header)>;

    // name: of the stream, for the log.
    AudioConverter(std::string name, AudioTranscoderOptions options, Deliver deliver);
    ~AudioConverter();  // nothing is delivered afterwards
    AudioConverter(const AudioConverter&) = delete;

    // Never yields. time_us: of the packet's first sample.
    void push(base::Slice packet, int64_t time_us);

    bool failed() const;  // the codecs could not be opened: this was logged, and all packets are discarded
    uint64_t dropped() const;
    size_t waiting_bytes() const;

  private:
    struct State;
    class Worker;
    base::Ref<State> state_;
    base::Ref<Worker> worker_;
};

}  // namespace convert
