#pragma once
// GET history: the figures of the past (history.h) of the server or of a stream, as points at equal distances; GET
// history/streams: the streams that have some, also those that ended.

#include <vector>

#include "service/api/earlier/earlier.h"
#include "service/api/history/history.h"
#include "service/api/table/endpoint.h"

namespace service::api {

class HistoryEndpoint {
  public:
    static constexpr int64_t kMaxPoints = 3'600;  // of an answer
    static constexpr int64_t kMaxStepS = 86'400;

    // All must outlive it.
    HistoryEndpoint(const Context& context, Earlier& earlier, const History& history)
        : context_(context), earlier_(earlier), history_(history) {}

    std::vector<Endpoint> endpoints();

  private:
    base::Result<void> figures(Request& request, Response& response);
    base::Result<void> streams(Request& request, Response& response);

    const Context& context_;
    Earlier& earlier_;
    const History& history_;
};

}  // namespace service::api
