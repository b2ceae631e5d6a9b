#pragma once
// Registry: the streams by name, weakly: a stream lives as long as its publisher or a viewer holds it.

#include <functional>
#include <map>

#include "base/ref.h"
#include "live/stream.h"
#include "runtime/coroutine.h"

namespace live {

class Registry {
  public:
    Registry() = default;
    ~Registry();
    Registry(const Registry&) = delete;

    // The housekeeping: ends the viewers of streams whose publisher did not come back.
    void start();
    void stop();

    base::Ref<Stream> find(const StreamKey& key) const;  // may be null
    base::Ref<Stream> find_or_create(const StreamKey& key, const LiveOptions& options);
    size_t size() const { return streams_.size(); }
    void for_each(const std::function<void(Stream&)>& visit) const;

  private:
    friend class Stream;
    void forget(const Stream& stream);
    void keep_house();

    std::map<StreamKey, Stream*> streams_;
    runtime::Task housekeeper_;
};

}  // namespace live
