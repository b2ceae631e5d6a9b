#pragma once
// For tests of rounds: a publisher that is read when a round is due.

#include <string>
#include <utility>

#include "live/hub/owner_testing.h"
#include "live/hub/stream.h"
#include "live/hub/testing.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"

namespace live::testing {

// A publisher whose coroutine publishes a frame for each read, or for several at once; the first is a keyframe.
class ReadOwner : public Owner {
  public:
    bool read_now() override {
        ++reads;
        wanted_.pulse();
        return true;
    }
    void begin(Stream& stream) {
        publication = std::move(*stream.acquire(*this, false));
        reader_ = runtime::spawn("reader", [this] {
            while (wanted_.wait_next(runtime::Deadline::never())) {
                if (!answers) continue;
                publication.publish(video(reads * 40, !std::exchange(has_begun_, true), std::to_string(reads)));
            }
        });
    }
    void end() {
        reader_.cancel_and_join();
        publication.end();
    }

    int reads = 0;
    bool answers = true;
    Publication publication;

  private:
    bool has_begun_ = false;
    runtime::Event wanted_{"a read"};
    runtime::Task reader_;
};

}  // namespace live::testing
