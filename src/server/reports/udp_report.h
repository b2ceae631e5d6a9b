#pragma once
// Measures UDP once a second and logs it: a warning for each second in which datagrams were lost, and a summary line
// every pithy_print_ms in which datagrams were received or sent.

#include "config/snapshot.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/udp.h"
#include "server/module.h"

namespace server {

class UdpReport : public WithoutClients {
  public:
    explicit UdpReport(config::SnapshotPtr snapshot) : snapshot_(std::move(snapshot)) {}

    base::Result<void> start();
    void stop() { task_.cancel_and_join(); }
    void reload(const config::SnapshotPtr& next) { snapshot_ = next; }

  private:
    void run();

    config::SnapshotPtr snapshot_;
    runtime::UdpStats printed_;  // the state at the last summary line
    int64_t printed_ms_ = 0;
    runtime::Task task_;
};

}  // namespace server
