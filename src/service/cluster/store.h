#pragma once
// Store: where the origins of a cluster say which streams they have. An interface, so that the state machine of leases
// is tested without a Redis. All calls yield, for a limited time; an error: the store is away.

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace service::cluster {

class Store {
  public:
    struct Claim {
        std::string key;
        std::string value;
        std::string expected;  // another value that may be replaced; empty: none
    };

    // Sets the value if the key has none (SET NX EX). Returns the value that it has otherwise; empty: it is set.
    virtual base::Result<std::string> acquire(const std::string& key, const std::string& value) = 0;
    // Sets each value, and renews its time, where the key has none, this one or the expected one, each in one step.
    // Returns, for each, the value that it has otherwise; empty: it is set.
    virtual base::Result<std::vector<std::string>> claim(std::span<const Claim> claims) = 0;
    // Removes each key that has that value still.
    virtual base::Result<void> release(std::span<const Claim> claims) = 0;
    // Empty: the key has no value.
    virtual base::Result<std::string> find(const std::string& key) = 0;

  protected:
    ~Store() = default;
};

}  // namespace service::cluster
