#include "live/fanout/delivery.h"

#include <utility>

#include "live/fanout/viewer.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/cpu_slice.h"

namespace live {

Delivery::~Delivery() = default;

void Delivery::notify_end(Viewer& viewer, ViewerHandler& handler, uint32_t& index,
                          std::unique_ptr<runtime::ByteStream> socket, std::string_view why) {
    index = static_cast<uint32_t>(ends_.size());
    ends_.push_back({&viewer, &handler, &index, std::move(socket), std::string(why)});
    // If no coroutine is available, the next end starts one for all.
    if (!running_)
        running_ =
            static_cast<bool>(runtime::spawn("viewer-reaper", [self = base::Ref<Delivery>(this)] { self->run(); }));
}

SendLatency& Delivery::latency(std::string_view protocol) { return latencies_[protocol]; }

void Delivery::forget(uint32_t index) {
    if (index != kNotified) take(index);
}

Delivery::BlockBytes Delivery::take_block() {
    if (spare_blocks_.empty()) return std::make_unique_for_overwrite<uint8_t[]>(kBlockBytes);
    BlockBytes bytes = std::move(spare_blocks_.back());
    spare_blocks_.pop_back();
    return bytes;
}

void Delivery::give_block(BlockBytes bytes) {
    if (spare_blocks_.size() < kMaxSpareBlocks) spare_blocks_.push_back(std::move(bytes));
}

// The last one takes its index.
Delivery::End Delivery::take(size_t index) {
    std::swap(ends_[index], ends_.back());
    *ends_[index].index = static_cast<uint32_t>(index);
    End end = std::move(ends_.back());
    ends_.pop_back();
    *end.index = kNotified;
    return end;
}

void Delivery::run() {
    runtime::CpuSlice slice(4);
    while (!ends_.empty()) {
        End end = take(ends_.size() - 1);
        end.socket.reset();
        end.handler->on_viewer_end(*end.viewer, end.why);
        (void)slice.step();
    }
    running_ = false;
}

}  // namespace live
