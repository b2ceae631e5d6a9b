#pragma once
// Internal. The record keys of one direction with an AES-GCM suite (RFC 5288 and RFC 6347, 4.1.2), derived from
// OpenSSL's master secret, to open and seal the few records that are handled without OpenSSL.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "protocol/dtls/record.h"

struct ssl_st;

namespace dtls {

class RecordKeys {
  public:
    // Available once OpenSSL has the master secret. client: the keys for what the client writes. kOther: the suite is
    // not AES-GCM.
    static base::Result<RecordKeys> of(ssl_st* ssl, bool client);

    // The plaintext; empty when the record is not authentic.
    std::vector<uint8_t> open(const Record& record) const;
    // Encrypts a record of ours again with another sequence number, in place: the length does not change. False: the
    // record is not one of ours.
    bool reseal(std::span<uint8_t> record, uint64_t sequence) const;

  private:
    std::array<uint8_t, 32> key_{};
    std::array<uint8_t, 4> salt_{};
    uint8_t key_size_ = 0;
};

}  // namespace dtls
