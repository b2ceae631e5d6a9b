#include "runtime/socket/udp_batch.h"

namespace runtime {

UdpBatch::UdpBatch(UdpSocket& socket) : socket_(socket) {
    arena_.use(socket, socket.is_v6(), socket.can_segment());
    sender_ = spawn("udp-send", [this] { send_loop(); });
}

UdpBatch::~UdpBatch() {
    if (sender_) sender_.cancel_and_join();
    arena_.drop_all();
}

void UdpBatch::send_loop() {
    while (waiting_.wait(Deadline::never())) {
        if (full_) {
            if (!socket_.wait_writable(Deadline::never())) return;
            full_ = false;
        }
        waiting_.reset();
        flush();
        if (full_) waiting_.set();
    }
}

uint8_t* UdpBatch::reserve(size_t max_bytes) {
    if (arena_.used() >= kFlushBytes && !full_) flush();
    if (uint8_t* room = arena_.reserve(max_bytes)) return room;
    flush();
    if (full_) arena_.compact();
    uint8_t* room = arena_.reserve(max_bytes);
    if (!room) socket_.count_sent(0, 1);
    return room;
}

void UdpBatch::flush() {
    if (full_) return;
    full_ = !arena_.flush();
    if (!full_) return;
    socket_.write_would_block();
    if (!waiting_.is_set()) waiting_.set();
}

}  // namespace runtime
