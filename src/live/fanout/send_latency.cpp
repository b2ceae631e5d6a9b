#include "live/fanout/send_latency.h"

namespace live {

std::map<std::string_view, SendLatency>& send_latencies() {
    static std::map<std::string_view, SendLatency> all;
    return all;
}

}  // namespace live
