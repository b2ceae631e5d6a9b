#pragma once
// SrtRoute: what sender threads need of an SrtOutput to send its messages: where they go, and a copy of its keys. With
// the announcement of its next key, or with its end, it is retired.

#include <cstring>
#include <optional>

#include "protocol/srt/cipher.h"
#include "protocol/srt/session_keys.h"
#include "runtime/senders/senders.h"

namespace service::relay {

// A message to be sent. Its bytes are kept by the ring that has them, as long as threads may need them.
struct SrtRecord {
    ::srt::DataHeader header;
    uint32_t size;
    const uint8_t* payload;
};

class SrtRoute final : public runtime::DatagramRoute {
  public:
    // keys: null: it does not encrypt.
    SrtRoute(const runtime::DatagramTarget& target, const ::srt::SenderKeys* keys) : DatagramRoute(target) {
        if (!keys) return;
        const auto make = [keys](std::optional<::srt::Cipher>& cipher, const ::srt::AesKey& key) {
            if (key) cipher.emplace(key, keys->salt());
        };
        make(even_, keys->keys().even);
        make(odd_, keys->keys().odd);
    }

  private:
    size_t write(const void* record, uint8_t* out) const override {
        const auto& message = *static_cast<const SrtRecord*>(record);
        ::srt::write_data_header(std::span<uint8_t, ::srt::kHeaderSize>(out, ::srt::kHeaderSize), message.header);
        out += ::srt::kHeaderSize;
        if (message.header.key == ::srt::KeyParity::kNone) {
            std::memcpy(out, message.payload, message.size);
        } else {
            auto& cipher = message.header.key == ::srt::KeyParity::kOdd ? odd_ : even_;
            cipher->crypt(message.header.sequence, {message.payload, message.size}, out);
        }
        return ::srt::kHeaderSize + message.size;
    }

    mutable std::optional<::srt::Cipher> even_, odd_;  // of the one thread that all its records are given to
};

}  // namespace service::relay
