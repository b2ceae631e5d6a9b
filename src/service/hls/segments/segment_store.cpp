#include "service/hls/segments/segment_store.h"

#include <algorithm>

#include "base/clock.h"
#include "runtime/loop/clock.h"

namespace service::hls {

SegmentStore::Named SegmentStore::name(const SegmentInfo& info, uint64_t bytes) {
    PathValues values{window_.next_sequence(), info.clock_ms, info.duration_ms};
    Named named;
    Entry& entry = named.entry;
    entry.path = paths_.segment(values);
    if (window_.has(entry.path)) entry.path = paths_.segment(values, true);
    entry.bytes = bytes;
    entry.independent = info.independent;
    entry.item.uri = paths_.segment_uri(entry.path);
    entry.item.duration_ms = info.duration_ms;
    entry.item.discontinuity = info.discontinuity || (gap_ && values.sequence > 0);
    gap_ = false;
    if (info.key) {
        named.new_key = info.key != last_key_;
        if (named.new_key) last_key_path_ = paths_.key(values);
        last_key_ = info.key;
        entry.key_path = last_key_path_;
        entry.item.key = {paths_.key_uri(entry.key_path), info.iv};
    }
    if (info.init) {
        named.new_map = !last_init_ || *last_init_ != *info.init;
        if (named.new_map) {
            auto used = [&](const Entry& other) { return !other.map_path.empty(); };
            bool taken = !last_map_path_.empty() || std::ranges::any_of(window_.entries(), used);
            last_map_path_ = paths_.init(values, taken);
        }
        last_init_ = info.init;
        entry.map_path = last_map_path_;
        entry.item.map_uri = paths_.segment_uri(entry.map_path);
    }
    return named;
}

// ---- Followers

void SegmentStore::add_follower(const std::shared_ptr<SegmentStore>& follower) {
    follower->follows_ = true;
    std::erase_if(followers_, [](const auto& other) { return other.expired(); });
    followers_.push_back(follower);
}

std::vector<std::shared_ptr<SegmentStore>> SegmentStore::followers() const {
    std::vector<std::shared_ptr<SegmentStore>> out;
    for (const auto& weak : followers_)
        if (auto follower = weak.lock()) out.push_back(std::move(follower));
    return out;
}

void SegmentStore::notify_followers(const Outcome& outcome) {
    for (const auto& follower : followers()) {
        if (follower->outcomes_.size() >= kMaxOutcomes) follower->outcomes_.pop_front();
        follower->outcomes_.push_back(outcome);
        follower->outcome_arrived();
    }
}

void SegmentStore::segment_added(const SegmentInfo& info) {
    if (followers_.empty()) return;
    const bool discontinuity = window_.entries().back().item.discontinuity;
    notify_followers({info.number, Position{window_.next_sequence() - 1, window_.discontinuities(), discontinuity,
                                            window_.longest_ms()}});
}

const SegmentStore::Outcome* SegmentStore::outcome_of(uint64_t number) {
    while (!outcomes_.empty() && outcomes_.front().number < number) outcomes_.pop_front();
    if (outcomes_.empty()) return nullptr;
    // It is not kept any more.
    if (outcomes_.front().number > number) outcomes_.push_front({number, std::nullopt});
    return &outcomes_.front();
}

bool SegmentStore::follow(const Position& position, SegmentInfo& info) {
    info.discontinuity = position.discontinuity;
    window_.set_ended(false);
    gap_ = false;
    return window_.move_to(position.sequence, position.discontinuities - (position.discontinuity ? 1 : 0),
                           position.longest_ms, runtime::now_ms());
}

Resource SegmentStore::resource() const {
    Resource resource;
    resource.made_ms = base::wall_ms();
    resource.max_age_s = options_.max_age_s;
    resource.stream = options_.stream;
    return resource;
}

// Keys made by this run are always served from memory, even if the segments are on disk.
void SegmentStore::put_shared(const Named& named, const SegmentInfo& info, bool in_memory) {
    if (named.new_key) {
        Resource key = resource();
        key.blocks = {base::Slice::copy(info.key->bytes)};
        key.size = info.key->bytes.size();
        key.max_age_s = 0;
        index_.put(options_.vhost, named.entry.key_path, std::move(key));
    }
    if (named.new_map) {
        Resource map = resource();
        if (in_memory) {
            map.blocks = {base::Slice::copy(*info.init)};
            map.size = info.init->size();
        } else {
            map.root = options_.root;
        }
        index_.put(options_.vhost, named.entry.map_path, std::move(map));
    }
}

namespace {

constexpr size_t kBlockBytes = 32 * 1024;

class MemorySegmentStore final : public SegmentStore {
  public:
    using SegmentStore::SegmentStore;

    void open() override { abandon(); }

    base::Result<void> write(std::span<const uint8_t> bytes) override {
        size_ += bytes.size();
        while (!bytes.empty()) {
            if (block_.capacity() == 0) block_.reserve(kBlockBytes);
            size_t n = std::min(bytes.size(), kBlockBytes - block_.size());
            block_.append(bytes.first(n));
            bytes = bytes.subspan(n);
            if (block_.size() == kBlockBytes) TRY(put_block());
        }
        return {};
    }

    void finish(SegmentInfo info) override {
        if (auto put = put_block(); !put) {
            const std::string what = paths_.playlist();
            lose();
            segment_lost(info);
            if (host_) host_->store_failed(*this, what, put.error());
            return;
        }
        mark_loss(info, window_.next_sequence() > 0);
        if (follows()) {
            const Outcome* outcome = outcome_of(info.number);
            if (!outcome || !outcome->position) return lose();
            follow(*outcome->position, info);
        }
        Named named = name(info, size_);
        Resource segment = resource();
        segment.blocks = std::move(blocks_);
        segment.pages = std::move(pages_);
        segment.size = size_;
        index_.put(options_.vhost, named.entry.path, std::move(segment));
        put_shared(named, info, true);
        uint64_t sequence = window_.next_sequence();
        window_.add(named.entry, runtime::now_ms());
        segment_added(info);
        abandon();
        if (!follows()) keep_below(options_.max_bytes);
        if (!host_) return;
        host_->store_changed(*this);
        host_->segment_done(*this, named.entry, sequence, {});
    }

    void abandon() override {
        blocks_.clear();
        block_.clear();
        pages_.reset();
        size_ = 0;
    }

    void end_list() override {
        window_.set_ended(true);
        if (host_) host_->store_changed(*this);
    }

    void tick(int64_t now_ms) override { forget(now_ms); }

    void dispose() override {
        for (const std::string& path : window_.take_expired(0, true)) index_.erase(options_.vhost, path);
    }

    bool idle() const override { return true; }

    size_t memory() const override {
        const uint64_t growing = pages_ ? pages_->size() : blocks_.size() * kBlockBytes;
        return growing + block_.capacity() + window_.bytes();
    }

    void release_memory() override {
        if (follows()) return;  // the store that it follows drops for both
        const uint64_t first = window_.first_sequence();
        keep_below(all_bytes() / 2);
        if (host_ && window_.first_sequence() != first) host_->store_changed(*this);
    }

  private:
    // The block is full, or the segment's last one.
    base::Result<void> put_block() {
        if (block_.size() == 0) return {};
        if (!pages_ && runtime::disk::PagedBytes::available()) pages_ = std::make_shared<runtime::disk::PagedBytes>();
        if (!pages_) {
            blocks_.push_back(base::Slice::copy(block_.bytes()));
            block_.clear();
            return {};
        }
        TRY(pages_->append(block_.bytes()));
        block_.clear();
        return {};
    }
    uint64_t all_bytes() const {
        uint64_t bytes = window_.bytes();
        for (const auto& follower : followers()) bytes += follower->window().bytes();
        return bytes;
    }
    // Entries that have left the playlist are dropped first; the newest is always kept.
    void keep_below(uint64_t bytes) {
        if (all_bytes() > bytes) forget_all_left();
        while (all_bytes() > bytes && window_.entries().size() > 1) {
            window_.drop(1);
            for (const auto& follower : followers()) follower->leave_before(window_.first_sequence(), 0);
            forget_all_left();
        }
    }
    void forget_all_left() {
        forget(INT64_MAX);
        for (const auto& follower : followers()) follower->tick(INT64_MAX);
    }
    void window_changed() override {
        if (host_) host_->store_changed(*this);
    }
    void forget(int64_t now_ms) {
        for (const std::string& path : window_.take_expired(now_ms)) index_.erase(options_.vhost, path);
    }

    std::shared_ptr<runtime::disk::PagedBytes> pages_;
    std::vector<base::Slice> blocks_;  // where there are no pages
    base::SliceBuilder block_;
    uint64_t size_ = 0;
};

}  // namespace

std::shared_ptr<SegmentStore> make_memory_segment_store(SegmentStoreHost& host, SegmentPaths names,
                                                        SegmentStoreOptions options, const Index& index) {
    return std::make_shared<MemorySegmentStore>(host, std::move(names), std::move(options), index);
}

}  // namespace service::hls
