#include "protocol/dtls/flight.h"

#include "protocol/dtls/record.h"

namespace dtls {

void Flight::clear() {
    bytes_.clear();
    ends_.clear();
    next_ = 0;
}

void Flight::add(std::span<const uint8_t> datagram) {
    bytes_.insert(bytes_.end(), datagram.begin(), datagram.end());
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
    ++added_;
}

std::span<const uint8_t> Flight::next() {
    if (sent()) return {};
    const size_t begin = next_ ? ends_[next_ - 1] : 0;
    const auto datagram = std::span(bytes_).subspan(begin, ends_[next_] - begin);
    ++next_;
    number_records(datagram, sequence_);
    return datagram;
}

}  // namespace dtls
