#pragma once
// Fanout: what the viewers of all streams of a Registry share: the notices of their ends, and how long bytes waited for
// them. The Registry makes it; each of its streams holds it too, so it outlives the last viewer.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "live/fanout/send_latency.h"
#include "runtime/socket/byte_stream.h"

namespace live {

class Viewer;
class ViewerHandler;

class Fanout : public base::RefCounted<Fanout> {
  public:
    // Has a coroutine call on_viewer_end soon: a handler may destroy its viewer, and must not while the pump or the
    // loop is inside it. Thousands may end at once. index: the viewer's, where its position among those that wait is
    // kept. socket: to be closed before; null: it is closed already.
    void notify_end(Viewer& viewer, ViewerHandler& handler, uint32_t& index,
                    std::unique_ptr<runtime::ByteStream> socket, std::string_view why);
    // The viewer is destroyed: its handler is not called any more. index: the one of notify_end().
    void forget(uint32_t index);

    // Created if it is missing. It stays where it is. protocol: must never be freed.
    SendLatency& latency(std::string_view protocol) { return latencies_[protocol]; }
    const std::map<std::string_view, SendLatency>& latencies() const { return latencies_; }

  private:
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

    std::vector<End> ends_;  // that the handlers have not been told of
    bool running_ = false;
    std::map<std::string_view, SendLatency> latencies_;  // by protocol (WireFormat)
};

}  // namespace live
