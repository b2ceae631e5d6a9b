#include "net/http/numbered_resources.h"

#include <algorithm>
#include <utility>

namespace net {

NumberedResources::NumberedResources(OpenBytes& bytes, Resources& resources, NumberedPaths paths)
    : bytes_(bytes), resources_(resources), paths_(std::move(paths)) {
    resources_.add(paths_.vhost, paths_.before, paths_.after, *this);
}

NumberedResources::~NumberedResources() { resources_.remove(paths_.vhost, paths_.before, paths_.after); }

void NumberedResources::add(uint64_t number, Resource resource) {
    kept_.push_back({number, std::move(resource)});
    if (number != next_ || !waiting_) return;
    const ResourcePtr shown = find(number);
    if (shown && waiting_) std::exchange(waiting_, nullptr)->come(shown, paths_.after, resources_.waker());
}

void NumberedResources::close(const std::shared_ptr<runtime::disk::PagedBytes>& pages) {
    const auto is_open = [](const Kept& kept) { return !kept.shown && !kept.resource.pages; };
    if (!pages) std::erase_if(kept_, is_open);
    for (auto kept = kept_.rbegin(); kept != kept_.rend() && (kept->shown || is_open(*kept)); ++kept)
        if (!kept->shown) kept->resource.pages = pages;
}

void NumberedResources::drop_before(uint64_t number) {
    while (!kept_.empty() && kept_.front().number < number) kept_.pop_front();
}

void NumberedResources::drop(uint64_t first, size_t count) { kept_.erase(at_least(first), at_least(first + count)); }

void NumberedResources::announce(std::optional<uint64_t> number, const std::shared_ptr<const base::StreamKey>& stream,
                                 int64_t limit_ms) {
    if (number == next_) return;
    if (waiting_) std::exchange(waiting_, nullptr)->withdraw(resources_.waker());
    next_ = number;
    limit_ms_ = limit_ms;
    if (stream_ != stream) stream_ = stream;
}

std::shared_ptr<Announced> NumberedResources::announced(uint64_t number) {
    if (number != next_) return nullptr;
    if (!waiting_) {
        waiting_ = std::make_shared<Announced>();
        waiting_->stream = stream_;
        waiting_->limit_ms = limit_ms_;
    }
    return waiting_;
}

std::deque<NumberedResources::Kept>::iterator NumberedResources::at_least(uint64_t number) {
    return std::ranges::lower_bound(kept_, number, {}, &Kept::number);
}

ResourcePtr NumberedResources::find(uint64_t number) {
    const auto found = at_least(number);
    if (found == kept_.end() || found->number != number) return nullptr;
    if (found->shown) return found->shown;
    if (!found->resource.pages) {
        auto pages = bytes_.open_pages();
        if (!pages) return nullptr;  // it is not kept any more
        found->resource.pages = std::move(pages);
    }
    return found->shown = resources_.name(std::move(found->resource));
}

}  // namespace net
