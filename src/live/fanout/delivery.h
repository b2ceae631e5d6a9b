#pragma once
// Delivery: parts shared by the logs and viewers of all streams of a Registry: the notifications of the viewers' ends,
// how long bytes waited to be sent, the scheduler of sends, and spare blocks of logs. The Registry
// makes it; each of its streams holds it too, so it outlives the last viewer.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "live/fanout/send_latency.h"
#include "live/fanout/send_scheduler.h"
#include "runtime/socket/byte_stream.h"

namespace live {

class Viewer;
class ViewerHandler;

class Delivery : public base::RefCounted<Delivery> {
  public:
    ~Delivery();

    // Has a coroutine call on_viewer_end soon: a handler may destroy its viewer, which a round or the loop may be
    // using at this moment. Thousands of viewers may end at once. index: the viewer's variable that holds its index
    // among those that wait. socket: to be closed before; null: it is closed already.
    void notify_end(Viewer& viewer, ViewerHandler& handler, uint32_t& index,
                    std::unique_ptr<runtime::ByteStream> socket, std::string_view why);
    // The viewer is destroyed: its handler must not be called. index: the one of notify_end().
    void forget(uint32_t index);

    // Created if it is missing; the reference stays valid. protocol: must never be freed.
    SendLatency& latency(std::string_view protocol);
    const std::map<std::string_view, SendLatency>& latencies() const { return latencies_; }

    SendScheduler& scheduler() { return scheduler_; }

    // Memory of kBlockBytes for a log, not initialized. The one that was given last is taken first: a log with few
    // viewers is empty after each cycle, and the next stream's cycle finds its block in the processor's cache.
    static constexpr size_t kBlockBytes = 16 * 1024;
    using BlockBytes = std::unique_ptr<uint8_t[]>;
    BlockBytes take_block();
    void give_block(BlockBytes bytes);

  private:
#ifdef SRS_SANITIZER
    static constexpr size_t kMaxSpareBlocks = 0;  // so that it finds who uses released bytes
#else
    static constexpr size_t kMaxSpareBlocks = 16;
#endif
    static constexpr uint32_t kNotified = UINT32_MAX;
    struct End {
        Viewer* viewer;
        ViewerHandler* handler;
        uint32_t* index;
        std::unique_ptr<runtime::ByteStream> socket;
        std::string why;
    };
    End take(size_t index);
    void run();

    std::vector<End> ends_;  // whose handlers have not been called
    bool running_ = false;
    SendScheduler scheduler_{*this};
    std::vector<BlockBytes> spare_blocks_;
    std::map<std::string_view, SendLatency> latencies_;  // by protocol (WireFormat)
};

}  // namespace live
