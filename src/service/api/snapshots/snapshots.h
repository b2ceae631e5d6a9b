#pragma once
// Snapshots: the newest keyframe of a stream as a JPEG picture. Pictures are content, so they are privileged, like
// recordings; but everybody may have the poster of a stream that he may play, as far as the rules of its vhost alone
// say that: of one size, up to ten seconds old, and not more than a few new ones a second. They are made on compute
// threads, one at a time, because conversions of audio wait behind them, and kept until there is a newer keyframe and
// they are a second old; requests for the same picture share it.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "protocol/prometheus/text.h"
#include "runtime/loop/sync.h"
#include "service/api/lists/statistics.h"
#include "service/api/snapshots/newest_keyframe.h"
#include "service/api/snapshots/poster_budget.h"
#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"

namespace service::api {

class Snapshots {
  public:
    static constexpr int64_t kMinWidth = 64, kWidth = 640, kMaxWidth = 1920;
    static constexpr int64_t kFreshMs = 1'000, kKeepMs = 30'000;
    // Requests that wait, of a stream and in all.
    static constexpr size_t kMaxWaitingOfStream = 16, kMaxWaiting = 64;
    // For everybody.
    static constexpr int64_t kPosterWidth = 1280, kPosterFreshMs = 10'000;
    static constexpr size_t kMaxKeptBytes = 16 * 1024 * 1024;

    // They must outlive this.
    Snapshots(const Context& context, const Statistics& statistics) : context_(context), statistics_(statistics) {}

    std::vector<Endpoint> endpoints();
    // Frees pictures that nobody has asked for lately. To be called every few seconds.
    void drop_old();
    void write_metrics(prometheus::Text& text) const;

  private:
    static constexpr int64_t kPatienceMs = 5'000;  // of a request

    // Of one width.
    struct Kept {
        NewestKeyframe keyframe{};  // whose memory is held, so that another one has another address
        int status = 0;             // 200, or why there is no picture
        std::string body{};         // the picture, or a text
        std::string etag{};
        int64_t made_ms = 0;   // by the loop's clock
        int64_t asked_ms = 0;  // likewise
    };
    using KeptPtr = std::shared_ptr<Kept>;
    struct OfStream {
        std::map<int, KeptPtr> kept{};  // by width
        bool is_busy = false;           // a picture is being made
        size_t waiting = 0;
        runtime::Event changed{"a picture of the stream"};
    };
    using OfStreamPtr = std::shared_ptr<OfStream>;

    // Of what is asked for: how wide, how old it may be, and whether everybody may ask for it.
    struct Wanted {
        int width;
        int64_t fresh_ms;
        bool is_poster;
    };

    Endpoint poster_row();
    base::Result<void> serve(Request& request, Response& response);
    base::Result<void> serve_poster(Request& request, Response& response);
    base::Result<live::StreamKey> admitted_to_poster(const Request& request) const;
    base::Result<void> send(const Kept& kept, int64_t fresh_ms, const Request& request, Response& response) const;
    base::Result<KeptPtr> get(const live::StreamKey& key, Wanted wanted);
    base::Result<KeptPtr> wait_or_make(const live::StreamKey& key, Wanted wanted, OfStream& all);
    base::Result<KeptPtr> make(const live::StreamKey& key, Wanted wanted, OfStream& all);
    base::Result<void> decode(Kept& kept, int width, runtime::Deadline deadline);
    void keep_below(size_t bytes);

    const Context& context_;
    const Statistics& statistics_;
    std::map<live::StreamKey, OfStreamPtr> streams_;
    size_t waiting_ = 0, waiting_posters_ = 0;
    PosterBudget posters_;
    bool decodes_ = false;
    runtime::Event decoded_{"the conversion of a picture"};
    uint64_t count_ = 0;
};

}  // namespace service::api
