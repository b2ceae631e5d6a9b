#pragma once
// AES-128-GCM as SRTP uses it (RFC 7714), with IVs of 12 bytes: by Intel's Multi-Buffer Crypto library on x86-64, which
// takes less than half of OpenSSL's time for a packet (doc/decisions/150), elsewhere by OpenSSL. Both classes have the
// same members. Not thread-safe.

#if defined(__x86_64__)
#include "protocol/srtp/gcm_ipsec_mb.h"
#else
#include "protocol/srtp/gcm_openssl.h"
#endif

namespace srtp {

#if defined(__x86_64__)
using Gcm = GcmIpsecMb;
#else
using Gcm = GcmOpenssl;
#endif

}  // namespace srtp
