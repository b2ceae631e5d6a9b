#pragma once
// For tests of edges: a fixture with what pulls and pushes need.

#include <memory>
#include <string>
#include <vector>

#include "service/edge/pull_manager.h"
#include "service/relay/testing.h"

namespace service::edge::testing {

class EdgeTest : public relay::testing::RelayTest {
  protected:
    // The default vhost is an edge of these origins.
    std::shared_ptr<config::Snapshot> with(std::vector<std::string> origins, std::string mode = "remote") const {
        auto snapshot = std::make_shared<config::Snapshot>(*snapshot_);
        auto& cluster = snapshot->vhosts.front().get<VhostConfig>();
        cluster.mode = std::move(mode);
        cluster.origin = std::move(origins);
        return snapshot;
    }
    void make_pulls(std::vector<std::string> origins) {
        snapshot_ = with(std::move(origins));
        pulls_ =
            std::make_unique<PullManager>(snapshot_, sessions_, registry_, gate_, health_, tls_, identity_, offers_);
    }

    net::Gate gate_;
    OriginHealth health_;
    ClientTls tls_;
    Identity identity_;
    Offers offers_;
    std::unique_ptr<PullManager> pulls_;
};

}  // namespace service::edge::testing
