#include "load/datagrams.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "protocol/rtcp/writer.h"
#include "runtime/loop/clock.h"

namespace load {

namespace {

// Above those of the servers that are measured.
constexpr uint16_t kFirstPort = 40'000, kLastPort = 65'000;
constexpr int kReceiveBytes = 256 * 1024;
constexpr uint8_t kSenderReport = 200;

// Nothing: the port is in use. The error is errno of anything else.
base::Result<int> bound_socket(uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return base::fail_errno("a UDP socket", errno);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof kReceiveBytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    const int error = errno;
    ::close(fd);
    if (error == EADDRINUSE) return -1;
    return base::fail_errno("binding a UDP socket", error);
}

}  // namespace

// ---- Ports

base::Result<std::unique_ptr<DatagramPorts>> DatagramPorts::open(DatagramReceiver& receiver, size_t tracks,
                                                                 DatagramHandler& handler) {
    std::unique_ptr<DatagramPorts> ports(new DatagramPorts(receiver));
    for (size_t track = 0; track < tracks; ++track)
        ports->numbers_.push_back(TRY(receiver.add_pair(static_cast<uint8_t>(track), handler, ports->slots_)));
    return ports;
}

DatagramPorts::~DatagramPorts() {
    for (uint32_t slot : slots_) receiver_.remove(slot);
}

base::Result<void> DatagramPorts::send(size_t track, std::span<const uint8_t> bytes, const std::string& ip,
                                       uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    if (::inet_pton(AF_INET, ip.c_str(), &to.sin_addr) != 1)
        return base::fail(base::Code::kConfig, "a floor's address is IPv4");
    const int fd = receiver_.slots_[slots_[2 * track]].fd;
    if (::sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to) < 0)
        return base::fail_errno("sending a datagram", errno);
    return {};
}

// ---- Receiver

struct DatagramReceiver::Buffers {
    Buffers() {
        for (size_t i = 0; i < kAtOnce; ++i) {
            parts[i] = {bytes[i].data(), kMaxBytes};
            headers[i].msg_hdr.msg_iov = &parts[i];
            headers[i].msg_hdr.msg_iovlen = 1;
            headers[i].msg_hdr.msg_name = &from[i];
        }
    }
    std::array<std::array<uint8_t, kMaxBytes>, kAtOnce> bytes;
    std::array<iovec, kAtOnce> parts{};
    std::array<sockaddr_in, kAtOnce> from{};
    std::array<mmsghdr, kAtOnce> headers{};
};

DatagramReceiver::DatagramReceiver() : next_port_(kFirstPort), buffers_(std::make_unique<Buffers>()) {}

base::Result<std::unique_ptr<DatagramReceiver>> DatagramReceiver::start() {
    std::unique_ptr<DatagramReceiver> receiver(new DatagramReceiver);
    receiver->epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (receiver->epoll_ < 0) return base::fail_errno("epoll_create1", errno);
    receiver->task_ = runtime::spawn("datagrams", [self = receiver.get()] { self->run(); });
    if (!receiver->task_) return base::fail(base::Code::kSystem, "no coroutine for datagrams");
    return receiver;
}

DatagramReceiver::~DatagramReceiver() {
    if (task_) task_.cancel_and_join();
    for (const Slot& slot : slots_)
        if (slot.fd >= 0) ::close(slot.fd);
    if (epoll_ >= 0) ::close(epoll_);
}

base::Result<rtsp::Ports> DatagramReceiver::add_pair(uint8_t track, DatagramHandler& handler,
                                                     std::vector<uint32_t>& slots) {
    for (int tries = 0; tries < (kLastPort - kFirstPort) / 2; ++tries) {
        const uint16_t port = next_port_;
        next_port_ = port + 2 >= kLastPort ? kFirstPort : static_cast<uint16_t>(port + 2);
        const int rtp = TRY(bound_socket(port));
        if (rtp < 0) continue;
        auto rtcp = bound_socket(static_cast<uint16_t>(port + 1));
        if (!rtcp || *rtcp < 0) {
            ::close(rtp);
            TRY(std::move(rtcp));
            continue;
        }
        auto first = add(rtp, {rtp, &handler, track, false});
        if (first) slots.push_back(*first);
        auto second = add(*rtcp, {*rtcp, &handler, track, true});
        if (second) slots.push_back(*second);
        TRY(std::move(first), "RTP");
        TRY(std::move(second), "RTCP");
        return rtsp::Ports{port, static_cast<uint16_t>(port + 1)};
    }
    return base::fail(base::Code::kLimit, "no free pair of UDP ports");
}

// Closes the socket when it cannot be watched.
base::Result<uint32_t> DatagramReceiver::add(int fd, Slot slot) {
    uint32_t number = static_cast<uint32_t>(slots_.size());
    if (!free_.empty()) number = free_.back();
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = number;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) < 0) {
        const int error = errno;
        ::close(fd);
        return base::fail_errno("epoll_ctl", error);
    }
    if (free_.empty()) {
        slots_.push_back(slot);
    } else {
        free_.pop_back();
        slots_[number] = slot;
    }
    return number;
}

void DatagramReceiver::remove(uint32_t number) {
    ::close(slots_[number].fd);
    slots_[number] = {};
    free_.push_back(number);
}

void DatagramReceiver::run() {
    while (runtime::sleep_ms(kTickMs)) {
        while (drain() && runtime::yield()) {
        }
    }
}

// False: nothing is left. Does not yield, so that the slots of the events are those that they were reported for.
bool DatagramReceiver::drain() {
    std::array<epoll_event, 256> events;
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) receive(events[static_cast<size_t>(i)].data.u32);
    return count == static_cast<int>(events.size());
}

void DatagramReceiver::receive(uint32_t number) {
    const Slot slot = slots_[number];
    if (slot.fd < 0) return;  // closed by a handler during this pass
    Buffers& b = *buffers_;
    for (mmsghdr& header : b.headers) header.msg_hdr.msg_namelen = sizeof(sockaddr_in);
    const int count = ::recvmmsg(slot.fd, b.headers.data(), kAtOnce, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < count && slots_[number].fd == slot.fd; ++i) {
        const auto at = static_cast<size_t>(i);
        const auto packet = std::span<const uint8_t>(b.bytes[at]).first(b.headers[at].msg_len);
        if (slot.rtcp) {
            answer(slot.fd, packet, at);
        } else {
            slot.handler->on_rtp(slot.track, packet);
        }
    }
}

void DatagramReceiver::answer(int fd, std::span<const uint8_t> report, size_t message) {
    if (report.size() < 8 || report[1] != kSenderReport) return;
    std::array<uint8_t, 64> out;
    rtcp::Writer writer(out);
    writer.receiver_report(static_cast<uint32_t>(fd));
    writer.cname(static_cast<uint32_t>(fd), "bench");
    // One that does not fit the socket is not missed: the next one comes soon.
    (void)::sendto(fd, out.data(), writer.size(), MSG_DONTWAIT,
                   reinterpret_cast<const sockaddr*>(&buffers_->from[message]), sizeof(sockaddr_in));
}

}  // namespace load
