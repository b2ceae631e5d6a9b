#pragma once
// Internal. The keys of one direction's records with an AES-GCM suite (RFC 5288 and RFC 6347, 4.1.2), taken from
// OpenSSL's master secret, to open and seal the few records that we handle without OpenSSL.

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
    // As soon as the master secret is there. client: of what the client writes. kOther: the suite is another.
    static base::Result<RecordKeys> of(ssl_st* ssl, bool client);

    // The plaintext; empty when the record is not authentic.
    std::vector<uint8_t> open(const Record& record) const;
    // A record of ours once more with another sequence number, in its place: the length is the same. False: not ours.
    bool reseal(std::span<uint8_t> record, uint64_t sequence) const;

  private:
    std::array<uint8_t, 32> key_{};
    std::array<uint8_t, 4> salt_{};
    uint8_t key_size_ = 0;
};

}  // namespace dtls
