#include "service/rtc/audio_converter.h"

#include <deque>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/coroutine.h"
#include "runtime/sync.h"

namespace service::rtc {

namespace {

constexpr size_t kStackBytes = 1024 * 1024;  // of address space
constexpr int64_t kTurnUs = 1000;

}  // namespace

struct AudioConverter::State : base::RefCounted<State> {
    struct Packet {
        base::Slice bytes;
        int64_t time_us = 0;
    };
    std::string name;
    media::AudioTranscoderOptions options;
    Deliver deliver;
    std::unique_ptr<media::AudioTranscoder> transcoder;
    std::deque<Packet> waiting;
    bool has_turn = false;  // it stands in the worker's row
    bool gone = false;      // its owner is
    bool failed = false;
    uint64_t dropped = 0;

    bool open() {
        if (transcoder) return true;
        auto made = media::AudioTranscoder::make(options);
        if (!made) {
            base::log::warn("rtc: {}: audio cannot be made {}: {}", name, media::codec_info(options.to).name,
                            made.error().text());
            failed = true;
            return false;
        }
        transcoder = std::move(*made);
        return true;
    }
};

// One for all converters that live at a time; each has a reference, and its coroutine too.
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
    void take_turn(const base::Ref<State>& state) {
        row_.push_back(state);
        if (!task_ || task_.done())
            task_ = runtime::spawn("audio-converter", [self = base::Ref<Worker>(this)] { self->run(); },
                                   {.stack_bytes = kStackBytes});
        wake_.pulse();
    }

  private:
    void run() {
        runtime::set_context_id(runtime::new_context_id());
        int64_t began_us = base::monotonic_us();
        while (converters_ > 0 && !runtime::cancelled()) {
            if (row_.empty()) {
                (void)wake_.wait_next(runtime::Deadline::never());
                began_us = base::monotonic_us();
                continue;
            }
            base::Ref<State> state = std::move(row_.front());
            row_.pop_front();
            state->has_turn = false;
            convert(*state, began_us);
        }
        row_.clear();
    }
    void convert(State& state, int64_t& began_us) {
        while (!state.gone && !state.failed && !state.waiting.empty()) {
            State::Packet packet = std::move(state.waiting.front());
            state.waiting.pop_front();
            if (!state.open()) break;
            encoded_.clear();
            state.transcoder->push(packet.bytes, packet.time_us, encoded_);
            if (!encoded_.empty()) state.deliver(encoded_, state.transcoder->header());
            if (base::monotonic_us() - began_us < kTurnUs) continue;
            (void)runtime::yield();
            began_us = base::monotonic_us();
        }
        state.waiting.clear();
    }

    static Worker* current_;
    size_t converters_ = 0;
    std::deque<base::Ref<State>> row_;
    std::vector<media::EncodedAudio> encoded_;
    runtime::Event wake_{"audio to convert"};
    runtime::Task task_;
};

AudioConverter::Worker* AudioConverter::Worker::current_ = nullptr;

AudioConverter::AudioConverter(std::string name, media::AudioTranscoderOptions options, Deliver deliver)
    : state_(base::make_ref<State>()), worker_(Worker::get()) {
    state_->name = std::move(name);
    state_->options = std::move(options);
    state_->deliver = std::move(deliver);
    worker_->enter();
}

AudioConverter::~AudioConverter() {
    state_->gone = true;
    worker_->leave();
}

void AudioConverter::push(base::Slice packet, int64_t time_us) {
    if (state_->failed) return;
    if (state_->waiting.size() >= kMostWaiting) {
        ++state_->dropped;
        return;
    }
    state_->waiting.push_back({std::move(packet), time_us});
    if (std::exchange(state_->has_turn, true)) return;
    worker_->take_turn(state_);
}

bool AudioConverter::failed() const { return state_->failed; }
uint64_t AudioConverter::dropped() const { return state_->dropped; }

}  // namespace service::rtc
