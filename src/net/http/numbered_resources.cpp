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
    if (!waiting_.contains(number)) return;
    const ResourcePtr shown = find(number);
    if (!shown) return;
    if (auto awaited = waiting_.extract(number)) awaited.mapped()->come(shown, paths_.after, resources_.waker());
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
    next_ = number;
    std::vector<std::shared_ptr<Announced>> over;
    std::erase_if(waiting_, [&](const auto& awaited) {
        const bool is_over = !can_await(awaited.first);
        if (is_over) over.push_back(awaited.second);
        return is_over;
    });
    for (const auto& awaited : over) awaited->withdraw(resources_.waker());
    limit_ms_ = limit_ms;
    if (stream_ != stream) stream_ = stream;
}

std::shared_ptr<Announced> NumberedResources::announced(uint64_t number) {
    if (!can_await(number)) return nullptr;
    std::shared_ptr<Announced>& awaited = waiting_[number];
    if (!awaited) {
        awaited = std::make_shared<Announced>();
        awaited->stream = stream_;
        awaited->limit_ms = limit_ms_;
    }
    return awaited;
}

bool NumberedResources::can_await(uint64_t number) const {
    return next_ && number >= *next_ && number - *next_ <= ahead_;
}

bool NumberedResources::is_awaited() const {
    return std::ranges::any_of(waiting_, [](const auto& awaited) { return awaited.second->is_awaited(); });
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
