#pragma once
// The UDP sockets of thousands of players by RTSP: a pair of ports a track, for RTP and RTCP, all of them received from
// by one coroutine, which looks every few milliseconds which have datagrams and takes all of a socket by one call. Each
// player has sockets of its own, as players on other machines have.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "protocol/rtsp/transport.h"
#include "runtime/loop/coroutine.h"

namespace load {

class DatagramHandler {
  public:
    virtual void on_rtp(size_t track, std::span<const uint8_t> packet) = 0;

  protected:
    ~DatagramHandler() = default;
};

class DatagramReceiver;

// Of one player. A sender report is answered with a receiver report, which keeps the session of the player alive.
class DatagramPorts {
  public:
    // The receiver and the handler must outlive it. The handler may destroy it.
    static base::Result<std::unique_ptr<DatagramPorts>> open(DatagramReceiver& receiver, size_t tracks,
                                                             DatagramHandler& handler);
    ~DatagramPorts();
    DatagramPorts(const DatagramPorts&) = delete;

    const std::vector<rtsp::Ports>& numbers() const { return numbers_; }
    // Sends a datagram from the track's port of RTP: what a floor takes for a request. ip: IPv4.
    base::Result<void> send(size_t track, std::span<const uint8_t> bytes, const std::string& ip, uint16_t port);

  private:
    explicit DatagramPorts(DatagramReceiver& receiver) : receiver_(receiver) {}

    DatagramReceiver& receiver_;
    std::vector<rtsp::Ports> numbers_;
    std::vector<uint32_t> slots_;  // of the receiver; RTP and RTCP by turns
};

class DatagramReceiver {
  public:
    static base::Result<std::unique_ptr<DatagramReceiver>> start();
    ~DatagramReceiver();
    DatagramReceiver(const DatagramReceiver&) = delete;

  private:
    friend class DatagramPorts;
    static constexpr int64_t kTickMs = 5;
    static constexpr size_t kAtOnce = 64;
    static constexpr size_t kMaxBytes = 2048;

    struct Slot {
        int fd = -1;
        DatagramHandler* handler = nullptr;
        uint8_t track = 0;
        bool rtcp = false;
    };
    struct Buffers;

    DatagramReceiver();
    // A pair of sockets on two ports in a row, the first one even.
    base::Result<rtsp::Ports> add_pair(uint8_t track, DatagramHandler& handler, std::vector<uint32_t>& slots);
    base::Result<uint32_t> add(int fd, Slot slot);
    void remove(uint32_t slot);
    void run();
    bool drain();
    void receive(uint32_t slot);
    void answer(int fd, std::span<const uint8_t> report, size_t message);

    int epoll_ = -1;
    uint16_t next_port_ = 0;
    std::vector<Slot> slots_;
    std::vector<uint32_t> free_;
    std::unique_ptr<Buffers> buffers_;
    runtime::Task task_;
};

}  // namespace load
