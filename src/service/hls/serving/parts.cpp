#include "service/hls/serving/parts.h"

#include <algorithm>
#include <utility>

#include "protocol/http/mime.h"
#include "service/hls/serving/serve.h"

namespace service::hls {

namespace {

// Of a resource in memory.
std::string bytes_of(const Resource& resource) {
    std::string bytes;
    bytes.reserve(resource.size);
    for (const auto& part : resource.parts(0, resource.size)) {
        const size_t begin = bytes.size();
        bytes.resize(begin + part.length);
        const std::span<uint8_t> room(reinterpret_cast<uint8_t*>(bytes.data()) + begin, part.length);
        for (size_t done = 0, n = 1; n > 0 && done < room.size(); done += n)
            n = part.source->read_now(room.subspan(done), part.offset + done);
    }
    return bytes;
}

// For those who waited for it, whole: a range of what a client does not know yet may be ignored (RFC 9110, 14.2).
net::AnswerPtr answer_of(const Resource& resource, std::string_view path, bool is_private) {
    net::AnswerFields fields = {{"Cache-Control", resource.cache_control(is_private)},
                                {"ETag", resource.etag},
                                {"Last-Modified", resource.last_modified},
                                {"Accept-Ranges", "bytes"}};
    return std::make_shared<net::PreparedAnswer>(200, std::string(http::mime_type(path)), std::move(fields),
                                                 bytes_of(resource));
}

}  // namespace

Parts::Parts(PartBytes& bytes, Index& index, PartPaths paths) : bytes_(bytes), index_(index), paths_(std::move(paths)) {
    Index::Numbered& numbered = *this;
    index_.add(paths_.vhost, paths_.before, paths_.after, numbered);
}

Parts::~Parts() { index_.remove(paths_.vhost, paths_.before, paths_.after); }

void Parts::add(uint64_t number, Resource part) {
    kept_.push_back({number, std::move(part)});
    if (number != hinted_ || waiting_.waiting.empty()) return;
    const ResourcePtr shown = find(number);
    if (!shown) return;
    index_.waker().answer(waiting_.waiting, answer_of(*shown, paths_.after, waiting_.is_private));
}

void Parts::close(const std::shared_ptr<runtime::disk::PagedBytes>& pages) {
    const auto is_open = [](const Kept& kept) { return !kept.shown && !kept.part.pages; };
    if (!pages) std::erase_if(kept_, is_open);
    for (auto kept = kept_.rbegin(); kept != kept_.rend() && (kept->shown || is_open(*kept)); ++kept)
        if (!kept->shown) kept->part.pages = pages;
}

void Parts::drop_before(uint64_t number) {
    while (!kept_.empty() && kept_.front().number < number) kept_.pop_front();
}

void Parts::drop(uint64_t first, size_t count) { kept_.erase(at_least(first), at_least(first + count)); }

void Parts::hint(std::optional<uint64_t> number, const std::shared_ptr<const live::StreamKey>& stream,
                 int64_t limit_ms) {
    if (number == hinted_) return;
    if (!waiting_.waiting.empty()) index_.waker().answer(waiting_.waiting, error_answer(404, "there is no such part"));
    hinted_ = number;
    waiting_.is_private = false;
    waiting_.limit_ms = limit_ms;
    if (waiting_.stream != stream) waiting_.stream = stream;
}

std::deque<Parts::Kept>::iterator Parts::at_least(uint64_t number) {
    return std::ranges::lower_bound(kept_, number, {}, &Kept::number);
}

ResourcePtr Parts::find(uint64_t number) {
    const auto found = at_least(number);
    if (found == kept_.end() || found->number != number) return nullptr;
    if (found->shown) return found->shown;
    if (!found->part.pages) {
        auto pages = bytes_.open_pages();
        if (!pages) return nullptr;  // it is not kept any more
        found->part.pages = std::move(pages);
    }
    return found->shown = index_.name(std::move(found->part));
}

}  // namespace service::hls
