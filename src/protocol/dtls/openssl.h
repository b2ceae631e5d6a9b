#pragma once
// Internal. Error texts of OpenSSL.

#include <string>

namespace dtls {

// The reason of the first error in OpenSSL's error queue. Empties the queue.
std::string openssl_error_text();

}  // namespace dtls
