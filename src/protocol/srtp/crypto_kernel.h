#pragma once
// libsrtp2, made ready: its crypto kernel with AES and HMAC of OpenSSL's (cipher.h, hmac_sha1.h) in place of those that
// it was built with. Debian builds it with NSS, which costs 18 to 30 kB a session, and whose tables make each packet
// and each end dearer the more sessions there are (doc/decisions/007). The library tests what it is given by its own
// vectors before it takes it.

namespace srtp {

// Once for the process; the first call takes some 20 ms of self-tests, all others nothing. An error stays.
bool start_crypto_kernel();

// The second step of it, for tests that have the library begin anew: replaces its ciphers.
bool replace_ciphers();

}  // namespace srtp
