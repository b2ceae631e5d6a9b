#include "live/registry.h"

#include "base/clock.h"
#include "base/log.h"

namespace live {
namespace {
constexpr int64_t kHousekeepingMs = 100;
}

Registry::Registry() : instance_(runtime::new_context_id()) {}

Registry::~Registry() {
    stop();
    // Whoever still holds a stream must not find a registry that is gone.
    for (auto& [key, stream] : streams_) stream->leave_registry();
}

void Registry::start() {
    if (!housekeeper_) housekeeper_ = runtime::spawn("live-housekeeper", [this] { keep_house(); });
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

void Registry::forget(const Stream& stream) { streams_.erase(stream.key()); }

void Registry::tell_published(Stream& stream) const {
    for (auto* watcher : watchers_) watcher->stream_published(stream);
}

void Registry::tell_unpublished(Stream& stream) const {
    for (auto* watcher : watchers_) watcher->stream_unpublished(stream);
}

void Registry::keep_house() {
    while (runtime::sleep_ms(kHousekeepingMs)) {
        int64_t now = base::monotonic_ms();
        std::vector<base::Ref<Stream>> orphans;
        for (const auto& [key, stream] : streams_) {
            int64_t since = stream->unpublished_since_ms();
            if (since > 0 && !stream->published() && now - since >= stream->options().rejoin_timeout_ms &&
                stream->viewer_count() > 0)
                orphans.push_back(base::Ref<Stream>(stream));
        }
        for (auto& stream : orphans) {
            base::log::trace("{}: the publisher has not come back for {} ms, its {} viewers are ended",
                             stream->key().text(), stream->options().rejoin_timeout_ms, stream->viewer_count());
            stream->end_viewers();
        }
    }
}

}  // namespace live
