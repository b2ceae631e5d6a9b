// What a rendition leaves to another process of the server, and takes over from one.

#include <algorithm>
#include <utility>

#include "service/hls/rendition.h"

namespace service::hls {

namespace {

// The process before may be ahead by what it has not sent yet: players know parts that this one has still to make.
constexpr uint64_t kPartsAhead = 8;

}  // namespace

// ---- To another process

LeftRendition Rendition::leave(Id first, Id end, LeftBlobs& blobs) {
    const SegmentTimeline& timeline = list_->timeline();
    LeftRendition left{.media_sequence = timeline.sequence(first), .ended = list_->ended()};
    first = std::max(first, list_->begin());
    end = std::min(end, list_->end());
    if (first >= end) return left;
    left.media_sequence = timeline.sequence(first);
    if (list_->listed_from() > first) left.listed_from = timeline.sequence(std::min(list_->listed_from(), end));
    // The newest ones first: there may not be room for all.
    for (Id id = end; id-- > first;) {
        const Segment& segment = timeline.at(id);
        Entry& entry = left.entries.emplace_front(*list_->find(id));
        entry.parts.resize(std::min(entry.parts.size(), segment.parts.size()));
        for (size_t i = entry.parts.size(); i-- > 0;) {
            auto bytes = entry.parts[i] > 0 ? leave_bytes(parts_.find(segment.first_part + i), blobs) : std::nullopt;
            if (bytes) left.parts.push_back({segment.first_part + i, *std::move(bytes)});
        }
        if (entry.disk == Entry::Disk::kPending) entry.disk = Entry::Disk::kLost;
        if (!std::exchange(entry.in_memory, false) || entry.disk == Entry::Disk::kThere) continue;
        if (auto bytes = leave_bytes(resources_.find(options_.vhost, entry.path), blobs))
            left.in_memory.emplace_back(static_cast<uint32_t>(id - first), *std::move(bytes));
    }
    std::ranges::reverse(left.parts);
    return left;
}

std::optional<LeftBytes> Rendition::leave_bytes(const net::ResourcePtr& resource, LeftBlobs& blobs) const {
    if (!resource || !resource->pages) return std::nullopt;
    const auto blob = blobs.add(resource->pages);
    if (!blob) return std::nullopt;
    LeftBytes bytes{*blob, resource->ranges};
    if (bytes.ranges.empty()) bytes.ranges.push_back({0, resource->size});
    return bytes;
}

void Rendition::give_over() {
    is_given_over_ = true;
    if (std::exchange(on_disk_, false)) files_->abandon();
}

// ---- From another one

net::Resource Rendition::left_resource(LeftBytes bytes, const std::shared_ptr<runtime::disk::PagedBytes>& blob) const {
    net::Resource taken = resource(std::move(bytes.ranges));
    taken.pages = blob;
    taken.is_final = true;
    return taken;
}

void Rendition::take_over(LeftRendition left, const std::vector<std::shared_ptr<runtime::disk::PagedBytes>>& blobs) {
    const SegmentTimeline& timeline = list_->timeline();
    const Id first = timeline.id_of(left.media_sequence);
    for (Entry& entry : left.entries) entry.in_memory = false;
    for (const auto& [index, bytes] : left.in_memory) left.entries[index].in_memory = true;
    for (size_t i = 0; i < left.entries.size(); ++i) {
        const uint64_t first_part = timeline.at(first + i).first_part;
        for (size_t part = 0; part < left.entries[i].parts.size(); ++part)
            if (!std::ranges::binary_search(left.parts, first_part + part, {}, &LeftPart::number))
                left.entries[i].parts[part] = 0;
    }
    list_->recover(first, std::move(left.entries));
    if (left.listed_from > left.media_sequence) list_->list_from(timeline.id_of(left.listed_from));
    if (files_) files_->take_over(std::move(left.unneeded));
    for (auto& [index, bytes] : left.in_memory) {
        const Entry& entry = *list_->find(first + index);
        show_shared(entry);
        const auto& blob = blobs[bytes.blob];
        resources_.put(options_.vhost, entry.path, left_resource(std::move(bytes), blob));
    }
    for (LeftPart& part : left.parts) {
        const auto& blob = blobs[part.bytes.blob];
        parts_.add(part.number, left_resource(std::move(part.bytes), blob));
    }
    if (!blobs.empty()) parts_.set_ahead(kPartsAhead);
    list_->set_ended(left.ended);
    show();
}

}  // namespace service::hls
