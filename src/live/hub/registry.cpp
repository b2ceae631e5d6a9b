#include "live/hub/registry.h"

#include <algorithm>
#include <functional>

#include "base/log.h"

namespace live {
namespace {
constexpr int64_t kHousekeepingMs = 100;
// Memory is counted when frames arrive. Memory released later is noticed within this many passes: of thousands of
// streams each pass counts a part.
constexpr size_t kRecountPasses = 10;
// How long viewers wait at least, whatever rejoin_timeout says, while a standby publisher sends: its keyframe is due.
constexpr int64_t kStandbyWaitMs = 30'000;

int64_t viewer_patience_ms(const Stream& stream, int64_t now_ms) {
    const int64_t rejoin_ms = stream.options().rejoin_timeout_ms;
    return stream.awaits_standby(now_ms) ? std::max(rejoin_ms, kStandbyWaitMs) : rejoin_ms;
}

// A callback may end itself or another one, which is not called then.
template <class Call>
void for_each_of(const std::vector<StreamWatcher*>& watchers, Call call) {
    for (StreamWatcher* watcher : std::vector(watchers))
        if (std::ranges::find(watchers, watcher) != watchers.end()) call(*watcher);
}
}  // namespace

Registry::Registry() : instance_(runtime::new_context_id()) {}

void Registry::add_holder(MemoryHolder& holder) { holders_.push_back(&holder); }

void Registry::remove_holder(MemoryHolder& holder) { std::erase(holders_, &holder); }

void Registry::watch(StreamWatcher& watcher) { watchers_.push_back(&watcher); }

void Registry::unwatch(StreamWatcher& watcher) { std::erase(watchers_, &watcher); }

Registry::~Registry() {
    stop();
    // Holders of a stream outlive the registry: the stream must not point to it any longer.
    for (auto& [key, stream] : streams_) stream->leave_registry();
}

void Registry::start() {
    if (!housekeeper_) housekeeper_ = runtime::spawn("live-housekeeper", [this] { run_housekeeping(); });
}

void Registry::stop() {
    if (housekeeper_) housekeeper_.cancel_and_join();
    housekeeper_ = {};
}

base::Ref<Stream> Registry::find(const StreamKey& key) const {
    auto it = streams_.find(key);
    return it == streams_.end() ? base::Ref<Stream>() : base::Ref<Stream>(it->second);
}

base::Ref<Stream> Registry::find_or_create(const StreamKey& key, const LiveOptions& options) {
    if (auto found = find(key)) return found;
    auto stream = base::make_ref<Stream>(this, key, options);
    streams_.emplace(key, stream.get());
    return stream;
}

void Registry::for_each(const std::function<void(Stream&)>& visit) const {
    for (const auto& [key, stream] : streams_) visit(*stream);
}

void Registry::forget(const Stream& stream) {
    streams_.erase(stream.key());
    if (stream.asked_for_housekeeping_) std::erase(unsettled_, &stream);
}

void Registry::notify_published(Stream& stream) const {
    for_each_of(watchers_, [&](StreamWatcher& watcher) { watcher.stream_published(stream); });
}

void Registry::notify_unpublished(Stream& stream) const {
    for_each_of(watchers_, [&](StreamWatcher& watcher) { watcher.stream_unpublished(stream); });
}

void Registry::notify_standby(Stream& stream, const StandbyChange& change) const {
    for_each_of(watchers_, [&](StreamWatcher& watcher) { watcher.standby_changed(stream, change); });
}

size_t Registry::memory() const {
    size_t bytes = memory_;
    for (const MemoryHolder* holder : holders_) bytes += holder->memory();
    return bytes;
}

std::vector<base::Ref<Stream>> Registry::all() const {
    std::vector<base::Ref<Stream>> streams;
    streams.reserve(streams_.size());
    for (const auto& [key, stream] : streams_) streams.push_back(base::Ref<Stream>(stream));
    return streams;
}

void Registry::run_housekeeping() {
    while (runtime::sleep_to_multiple(kHousekeepingMs)) {
        const int64_t now_ms = runtime::now_ms();
        std::erase_if(unsettled_, [](Stream* stream) {
            stream->asked_for_housekeeping_ = stream->needs_housekeeping();
            return !stream->asked_for_housekeeping_;
        });
        std::vector<base::Ref<Stream>> orphans, waiting;
        for (Stream* stream : unsettled_) {
            if (is_orphan(*stream, now_ms)) orphans.push_back(base::Ref<Stream>(stream));
            if (stream->needs_tick()) waiting.push_back(base::Ref<Stream>(stream));
        }
        end_orphans(orphans, now_ms);
        for (auto& stream : waiting) stream->tick(now_ms);
        for (auto& stream : next_to_count()) stream->check_memory();
        // Memory that was released since does not trigger a check elsewhere.
        enforce_memory_limit(memory_short_);
    }
}

std::vector<base::Ref<Stream>> Registry::next_to_count() {
    std::vector<base::Ref<Stream>> counted;
    auto it = streams_.upper_bound(counted_);
    for (size_t left = (streams_.size() + kRecountPasses - 1) / kRecountPasses; left > 0; --left) {
        if (it == streams_.end()) it = streams_.begin();
        counted_ = it->first;
        counted.push_back(base::Ref<Stream>(it++->second));
    }
    return counted;
}

// It has viewers, and its publisher has not come back for as long as they wait.
bool Registry::is_orphan(const Stream& stream, int64_t now_ms) {
    const int64_t since = stream.unpublished_since_ms();
    return since > 0 && !stream.published() && now_ms - since >= viewer_patience_ms(stream, now_ms) &&
           stream.viewer_count() > 0;
}

void Registry::end_orphans(const std::vector<base::Ref<Stream>>& orphans, int64_t now_ms) {
    for (auto& stream : orphans) {
        if (ending_[stream->key()].found(now_ms))
            base::log::trace("{}: the publisher has not come back for {} ms, its {} viewers are ended",
                             stream->key().text(), stream->options().rejoin_timeout_ms, stream->viewer_count());
        stream->end_viewers();
    }
    for (auto it = ending_.begin(); it != ending_.end();) {
        auto past = it->second.ended(now_ms);
        if (past && past->times > 1)
            base::log::trace("{}: its viewers had what there was after {} ms", it->first.text(), past->ms);
        it = past ? ending_.erase(it) : std::next(it);
    }
}

// Memory of ended streams is released first, then the largest stream releases memory, then the next. Where that is not
// enough the largest streams end.
void Registry::enforce_memory_limit(bool recount) {
    if (recount)
        for (auto& stream : all()) stream->check_memory();
    const size_t limit = own_memory_limit();
    if (limit == 0 || memory() <= limit) {
        if (memory_short_ && memory() <= limit / 4 * 3) memory_short_ = false;
        return;
    }
    if (!memory_short_)
        base::log::warn(
            "all streams together hold {} MB of memory, total_stream_memory is {} MB{}: the largest make room",
            memory() >> 20, memory_limit_ >> 20,
            memory_elsewhere_ ? fmt::format(", of which another process has {}", memory_elsewhere_ >> 20) : "");
    memory_short_ = true;
    const size_t target = limit / 4 * 3;
    for (MemoryHolder* holder : holders_) holder->release_memory();
    std::vector<base::Ref<Stream>> streams = all();
    std::ranges::sort(streams, std::ranges::greater(), [](const auto& stream) { return stream->counted_memory(); });
    for (auto& stream : streams) {
        if (memory() <= target) return;
        stream->release_memory(0);
    }
    if (memory() > limit) end_largest(streams, memory() - limit);
}

// So many that theirs is the excess. One that has ended already, and is about to go, counts as one of them.
void Registry::end_largest(std::vector<base::Ref<Stream>>& streams, size_t excess) {
    const auto bytes_of = [](const auto& stream) { return stream->counted_memory(); };
    const auto has_ended = [](const auto& stream) { return !stream->published() && stream->viewer_count() == 0; };
    std::ranges::sort(streams, std::ranges::greater(), bytes_of);
    std::ranges::stable_partition(streams, has_ended);
    for (size_t ended = 0; auto& stream : streams) {
        if (ended >= excess) return;
        ended += bytes_of(stream);
        if (stream->published())
            stream->overdraw(fmt::format("all streams hold {} MB of memory (total_stream_memory), this one {} of them",
                                         memory() >> 20, bytes_of(stream) >> 20));
        else if (!has_ended(stream))
            stream->abort_viewers("the stream has ended, and its memory is needed (total_stream_memory)");
    }
}

}  // namespace live
