#include "protocol/srt/connection.h"

#include <algorithm>
#include <utility>

namespace srt {

Connection::Connection(const Agreement& agreement, const ConnectionOptions& options)
    : agreement_(agreement),
      options_(options),
      received_us_(agreement.conclusion_us),
      sent_us_(agreement.conclusion_us) {}

Connection Connection::receiving(const Agreement& agreement, const ConnectionOptions& options, DataSink& sink,
                                 PayloadDecryptor* decryptor) {
    Connection made(agreement, options);
    made.sink_ = &sink;
    made.decryptor_ = decryptor;
    made.receiver_ =
        std::make_unique<Receiver>(Receiver::Options{.initial_sequence = agreement.initial_sequence,
                                                     .latency_us = agreement.receive_latency_us,
                                                     .conclusion_us = agreement.conclusion_us,
                                                     .conclusion_timestamp_us = agreement.conclusion_timestamp_us,
                                                     .window = agreement.own_window,
                                                     .reorder = options.reorder,
                                                     .drop_too_late = agreement.drop_too_late});
    return made;
}

Connection Connection::sending(const Agreement& agreement, const ConnectionOptions& options, int64_t index) {
    Connection made(agreement, options);
    made.sender_ = std::make_unique<Sender>(Sender::Options{.initial_sequence = agreement.initial_sequence,
                                                            .peer_id = agreement.peer_id,
                                                            .start_us = agreement.start_us,
                                                            .latency_us = agreement.send_latency_us,
                                                            .send_delay_us = options.send_delay_us,
                                                            .window = agreement.peer_window,
                                                            .peer_repeats_naks = agreement.peer_repeats_naks},
                                            index);
    return made;
}

// --- in ------------------------------------------------------------------------------------------------------------

Connection::Event Connection::unexpected() {
    ++counters_.unexpected;
    return Event::kIgnored;
}

Connection::Event Connection::on_datagram(int64_t now_us, std::span<uint8_t> datagram) {
    if (end_ != End::kNone) return Event::kIgnored;
    const std::optional<ControlHeader> control = parse_control(datagram);
    const bool is_handshake = control && control->type == ControlType::kHandshake;
    if (!is_packet(datagram) || (destination_of(datagram) != agreement_.own_id && !is_handshake)) return unexpected();
    received_us_ = now_us;
    if (control) {
        ++counters_.control_in;
        return on_control(now_us, *control, body_of(datagram));
    }
    const std::optional<DataHeader> data = parse_data(datagram);
    if (!data || !receiver_) return unexpected();
    return on_data(now_us, *data, datagram.subspan(kHeaderSize));
}

Connection::Event Connection::on_data(int64_t now_us, const DataHeader& header, std::span<uint8_t> payload) {
    bool readable = header.key == KeyParity::kNone;
    if (decryptor_) readable = receiver_->is_wanted(header.sequence) && decryptor_->decrypt(header, payload);
    receiver_->on_data(now_us,
                       {.sequence = header.sequence,
                        .timestamp_us = header.timestamp_us,
                        .retransmitted = header.retransmitted,
                        .readable = readable,
                        .payload = payload},
                       *sink_);
    receiver_->on_time(now_us, *sink_);
    if (receiver_->failure() != Receiver::Failure::kNone) finish(now_us, End::kBufferFull);
    return Event::kNone;
}

Connection::Event Connection::on_control(int64_t now_us, const ControlHeader& header,
                                         std::span<const uint8_t> contents) {
    switch (header.type) {
        case ControlType::kHandshake:
            return Event::kHandshake;
        case ControlType::kExtension:
            return Event::kKeyMessage;
        case ControlType::kKeepalive:
        case ControlType::kCongestionWarning:
        case ControlType::kPeerError:
            return Event::kNone;
        case ControlType::kShutdown:
            finish(now_us, End::kPeerShutdown);
            return Event::kNone;
        case ControlType::kAckAck:
            if (!receiver_) return unexpected();
            receiver_->on_ack_ack(now_us, header.info, header.timestamp_us);
            return Event::kNone;
        case ControlType::kDropRequest: {
            const auto request = parse_drop_request(header, contents);
            if (!request || !receiver_) return unexpected();
            ++counters_.drop_requests_in;
            receiver_->on_drop_request(now_us, request->range, *sink_);
            return Event::kNone;
        }
        case ControlType::kAck: {
            const auto ack = parse_ack(header, contents);
            if (!ack) return unexpected();
            ++counters_.acks_in;
            // Also where no data are sent: such ACKs are repeated until they are answered.
            if (ack->number != 0 && ack_ack_count_ < ack_acks_.size()) ack_acks_[ack_ack_count_++] = ack->number;
            if (sender_) sender_->on_ack(now_us, *ack);
            return Event::kNone;
        }
        case ControlType::kNak:
            if (!sender_) return unexpected();
            ++counters_.naks_in;
            sender_->on_nak(now_us, LossList(contents));
            return Event::kNone;
    }
    return unexpected();
}

// --- time ----------------------------------------------------------------------------------------------------------

void Connection::on_time(int64_t now_us) {
    if (end_ != End::kNone) return;
    if (receiver_) receiver_->on_time(now_us, *sink_);
    if (receiver_ && receiver_->failure() != Receiver::Failure::kNone) return finish(now_us, End::kBufferFull);
    if (now_us - received_us_ >= options_.idle_timeout_us) finish(now_us, End::kIdle);
}

void Connection::close(int64_t now_us) {
    if (end_ == End::kNone) finish(now_us, End::kClosed);
}

void Connection::finish(int64_t now_us, End end) {
    end_ = end;
    send_shutdown_ = end != End::kPeerShutdown;
    if (receiver_) receiver_->flush(now_us, *sink_);
}

int64_t Connection::deadline() const {
    if (end_ != End::kNone) return send_shutdown_ ? INT64_MIN : kNever;
    if (ack_ack_count_ > 0) return INT64_MIN;
    const int64_t at = std::min(received_us_ + options_.idle_timeout_us, sent_us_ + kKeepaliveUs);
    return receiver_ ? std::min(at, receiver_->deadline()) : at;
}

int64_t Connection::deadline(const History& history, const SendPolicy& policy) const {
    if (end_ != End::kNone || !sender_) return deadline();
    return std::min(deadline(), sender_->deadline(history, policy));
}

// --- out -----------------------------------------------------------------------------------------------------------

std::optional<Outgoing> Connection::next_data(int64_t now_us, const History& history, const SendPolicy& policy) {
    if (end_ != End::kNone || !sender_) return std::nullopt;
    auto packet = sender_->next(now_us, history, policy);
    if (packet) sent_us_ = now_us;
    return packet;
}

size_t Connection::next_control(int64_t now_us, std::span<uint8_t> out) {
    const size_t size = write_control(now_us, out.first(std::min(out.size(), agreement_.max_datagram)));
    if (size == 0) return 0;
    sent_us_ = now_us;
    ++counters_.control_out;
    return size;
}

size_t Connection::write_control(int64_t now_us, std::span<uint8_t> out) {
    const Target target{.destination = agreement_.peer_id, .timestamp_us = timestamp(now_us)};
    if (std::exchange(send_shutdown_, false)) return write_shutdown(out, target);
    if (end_ != End::kNone) return 0;
    if (ack_ack_count_ > 0) {
        const uint32_t number = ack_acks_.front();
        std::shift_left(ack_acks_.begin(), ack_acks_.end(), 1);
        --ack_ack_count_;
        return write_ack_ack(out, target, number);
    }
    if (receiver_) {
        if (auto ack = receiver_->next_ack(now_us)) {
            ++counters_.acks_out;
            return write_ack(out, target, *ack);
        }
        NakWriter nak(out, target);
        receiver_->write_nak(now_us, nak);
        if (nak.size() > 0) {
            ++counters_.naks_out;
            return nak.size();
        }
    } else if (auto request = sender_->next_drop_request()) {
        ++counters_.drop_requests_out;
        return write_drop_request(out, target, *request);
    }
    return now_us - sent_us_ >= kKeepaliveUs ? write_keepalive(out, target) : 0;
}

}  // namespace srt
