#pragma once
// Internal. OpenSSL's own words.

#include <string>

namespace dtls {

// The reason of the first error in OpenSSL's queue, which is emptied.
std::string openssl_error_text();

}  // namespace dtls
