#pragma once
// Measures UDP once a second and says it in the log: a warning for each second in which datagrams were lost, and every
// pithy_print_ms a line of what passed, while there is a UDP socket.

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
    runtime::UdpStats printed_;  // what the last line of all had
    int64_t printed_ms_ = 0;
    runtime::Task task_;
};

}  // namespace server
