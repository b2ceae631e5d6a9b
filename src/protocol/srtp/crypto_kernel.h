#pragma once
// Initializes libsrtp2: replaces the AES and HMAC of its crypto kernel by ours (gcm.h, counter_mode.h, hmac_sha1.h).
// Debian builds the library with NSS, which takes 18 to 30 kB a session, and whose tables make each packet and each end
// of a session more expensive the more sessions there are (doc/decisions/007). The library checks the replacements with
// its own test vectors before it accepts them.

namespace srtp {

// Once per process; the first call takes about 20 ms of self-tests, all others no time. An error is permanent.
bool start_crypto_kernel();

// The second step of start_crypto_kernel(), for tests that initialize the library again: replaces its ciphers.
bool replace_ciphers();

}  // namespace srtp
