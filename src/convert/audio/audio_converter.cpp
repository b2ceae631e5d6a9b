#include "convert/audio/audio_converter.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "base/log.h"
#include "convert/statistics.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/loop/limited_log.h"
#include "runtime/loop/sync.h"
#include "runtime/threads/compute.h"

namespace convert {

namespace {

// Packets per job: no stream occupies a thread for long, and no thread has much left to do when the server stops.
constexpr size_t kMaxAtOnce = 16;

}  // namespace

struct AudioConverter::State : base::RefCounted<State> {
    // A thread's exclusive data during a conversion: the input bytes are copies, and nothing else refers to the output
    // until it is back on the loop.
    struct Work {
        struct Packet {
            size_t end;  // in bytes; the packet begins where the one before ends
            int64_t time_us;
        };
        AudioTranscoderOptions options;
        std::unique_ptr<AudioTranscoder> transcoder;
        std::vector<uint8_t> bytes;
        std::vector<Packet> packets;
        std::vector<std::vector<EncodedAudio>> out;  // the output of each packet
        std::string error;

        void add(std::span<const uint8_t> packet, int64_t time_us) {
            bytes.insert(bytes.end(), packet.begin(), packet.end());
            packets.push_back({bytes.size(), time_us});
        }
        void clear() {
            bytes.clear();
            packets.clear();
            out.clear();
        }
        // On a thread.
        void run() {
            if (!transcoder) {
                auto made = AudioTranscoder::make(options);
                if (!made) {
                    error = made.error().text();
                    return;
                }
                transcoder = *std::move(made);
            }
            out.resize(packets.size());
            size_t begin = 0;
            for (size_t i = 0; i < packets.size(); ++i) {
                transcoder->push(std::span(bytes).subspan(begin, packets[i].end - begin), packets[i].time_us, out[i]);
                begin = packets[i].end;
            }
        }
    };
    struct Packet {
        base::Slice bytes;
        int64_t time_us = 0;
    };
    std::string name;
    Deliver deliver;
    Work work;               // used by a thread alone while under_way
    bool under_way = false;  // until the output is delivered
    std::deque<Packet> waiting;
    size_t waiting_bytes = 0;
    bool gone = false;  // its owner was destroyed
    bool failed = false;
    uint64_t dropped = 0;

    void fail(std::string_view why) {
        runtime::warn_limited("rtc: {}: audio cannot be converted to {}: {}", name,
                              media::codec_info(work.options.to).name, why);
        failed = true;
        waiting.clear();
        waiting_bytes = 0;
    }
};

// One object shared by all converters that exist at a time; each converter, the coroutine and each job hold a
// reference.
class AudioConverter::Worker : public base::RefCounted<Worker> {
  public:
    static base::Ref<Worker> get() {
        if (!current_) {
            auto made = base::make_ref<Worker>();
            current_ = made.get();
            return made;
        }
        return base::Ref<Worker>(current_);
    }
    ~Worker() { current_ = nullptr; }

    void enter() { ++converters_; }
    void leave() {
        if (--converters_ == 0) wake_.pulse();
    }
    // Hands the next packets to a thread, if no job is under way and the packets suffice for an output packet. Fewer
    // packets wait, because a job costs more than their conversion.
    void submit(const base::Ref<State>& state) {
        if (state->under_way || state->gone || state->failed) return;
        const size_t wanted = state->work.transcoder ? state->work.transcoder->packets_until_output() : 1;
        if (state->waiting.size() < std::min(wanted, kMaxAtOnce)) return;
        state->work.clear();
        for (size_t i = 0; i < kMaxAtOnce && !state->waiting.empty(); ++i) {
            state->work.add(state->waiting.front().bytes, state->waiting.front().time_us);
            state->waiting_bytes -= state->waiting.front().bytes.size();
            state->waiting.pop_front();
        }
        if (!task_ || task_.done())
            task_ = runtime::spawn("audio-converter", [self = base::Ref<Worker>(this)] { self->run(); });
        state->under_way = runtime::compute([work = &state->work] { work->run(); },
                                            [self = base::Ref<Worker>(this), state] { self->finished(state); });
        if (!state->under_way) state->fail("there is no thread for it");
    }

  private:
    // The loop only wakes the coroutine: delivering needs more stack and time than a completion callback may use.
    void finished(const base::Ref<State>& state) {
        deliverable_.push_back(state);
        wake_.pulse();
    }
    void run() {
        runtime::set_context_id(runtime::new_context_id());
        runtime::CpuSlice slice;
        while (converters_ > 0 && !runtime::cancelled()) {
            if (deliverable_.empty()) {
                (void)wake_.wait_next(runtime::Deadline::never());
                slice = runtime::CpuSlice();
                continue;
            }
            base::Ref<State> state = std::move(deliverable_.front());
            deliverable_.pop_front();
            deliver(*state);
            state->under_way = false;
            submit(state);
            (void)slice.step();
        }
        deliverable_.clear();
    }
    void deliver(State& state) {
        if (state.gone) return;
        if (!state.work.error.empty()) return state.fail(state.work.error);
        const base::Slice header = state.work.transcoder->header();
        // The callback may push more packets, which wait.
        for (auto& packets : state.work.out) {
            if (packets.empty() || state.gone) continue;
            // The output lives for seconds, as frames or for retransmission. In the thread's heap arena, where it was
            // made, it would occupy the holes between the codecs' allocations, and the allocations of the next codec
            // would not fit there.
            for (EncodedAudio& packet : packets) packet.payload = base::Slice::copy(packet.payload);
            state.deliver(packets, header);
        }
    }

    static Worker* current_;
    size_t converters_ = 0;
    std::deque<base::Ref<State>> deliverable_;  // converters with output to deliver
    runtime::Event wake_{"audio to convert"};
    runtime::Task task_;
};

AudioConverter::Worker* AudioConverter::Worker::current_ = nullptr;

AudioConverter::AudioConverter(std::string name, AudioTranscoderOptions options, Deliver deliver)
    : state_(base::make_ref<State>()), worker_(Worker::get()) {
    state_->name = std::move(name);
    state_->work.options = std::move(options);
    // The caller's Slice has a reference count that belongs to the loop.
    state_->work.options.from_header = base::Slice::copy(state_->work.options.from_header);
    state_->deliver = std::move(deliver);
    worker_->enter();
    ++statistics().audio_converters;
}

AudioConverter::~AudioConverter() {
    state_->gone = true;
    state_->waiting.clear();
    state_->waiting_bytes = 0;
    worker_->leave();
    --statistics().audio_converters;
    if (state_->dropped > 0)
        runtime::warn_limited("rtc: {}: {} packets of audio were not converted: the queue was full", state_->name,
                              state_->dropped);
}

void AudioConverter::push(base::Slice packet, int64_t time_us) {
    if (state_->failed) return;
    const size_t under_way = state_->under_way ? state_->work.packets.size() : 0;
    if (state_->waiting.size() + under_way >= kMaxWaiting || packet.size() > kMaxPacketBytes ||
        state_->waiting_bytes + packet.size() > kMaxWaitingBytes) {
        ++statistics().audio_dropped;
        if (state_->dropped++ == 0)
            runtime::warn_limited("rtc: {}: audio conversion falls behind, packets are dropped", state_->name);
        return;
    }
    state_->waiting_bytes += packet.size();
    state_->waiting.push_back({std::move(packet), time_us});
    worker_->submit(state_);
}

bool AudioConverter::failed() const { return state_->failed; }
uint64_t AudioConverter::dropped() const { return state_->dropped; }
size_t AudioConverter::waiting_bytes() const { return state_->waiting_bytes; }

}  // namespace convert
