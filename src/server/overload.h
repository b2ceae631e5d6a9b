#pragma once
// The circuit breaker. Overload is pure: the CPU usage per second of the loop, or of the busiest sender thread, in, the
// level out. OverloadWatch is the module that measures, and the guard that refuses new players at the level "dying":
// each further viewer would cost the existing ones their stream. Publishers are admitted: without them there is nothing
// to play.

#include <cstdint>
#include <string_view>

#include "config/snapshot.h"
#include "net/access/gate.h"
#include "net/operations.h"
#include "runtime/loop/coroutine.h"
#include "server/module.h"

namespace server {

class Overload {
  public:
    // percent: CPU usage of the busiest of these threads in the last second.
    net::LoadLevel second(double percent, const config::CircuitBreaker& breaker);

  private:
    int high_s_ = 0;  // consecutive seconds, up to the pulse
    int critical_s_ = 0;
    int dying_s_ = 0;
};

class OverloadWatch final : public net::Guard, public WithoutClients {
  public:
    // Both must outlive it.
    OverloadWatch(config::SnapshotPtr snapshot, net::Gate& gate, net::Operations& operations)
        : snapshot_(std::move(snapshot)), gate_(gate), operations_(operations) {}

    base::Result<void> start();
    void stop();
    void reload(const config::SnapshotPtr& next) { snapshot_ = next; }

    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost& vhost) override;

  private:
    void run();
    void update(double percent);

    config::SnapshotPtr snapshot_;
    net::Gate& gate_;
    net::Operations& operations_;
    Overload overload_;
    runtime::Task task_;
};

}  // namespace server
