#pragma once
// RedisStore: the store in a Redis. A lease is a key with a time to live. Conditional steps are scripts (EVAL), which
// Redis runs without others in between; each has one key.

#include <cstdint>

#include "service/cluster/redis_client.h"
#include "service/cluster/store.h"

namespace service::cluster {

class RedisStore final : public Store {
  public:
    // The client must outlive it.
    explicit RedisStore(RedisClient& client) : client_(client) {}

    void set_lease(int64_t seconds) { lease_s_ = seconds; }

    base::Result<std::string> acquire(const std::string& key, const std::string& value) override;
    base::Result<std::vector<std::string>> claim(std::span<const Claim> claims) override;
    base::Result<void> release(std::span<const Claim> claims) override;
    base::Result<std::string> find(const std::string& key) override;

  private:
    RedisClient& client_;
    int64_t lease_s_ = 10;
};

}  // namespace service::cluster
