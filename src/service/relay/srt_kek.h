#pragma once
// The key that encrypts the keys of a connection by SRT: its derivation costs 2 ms, and is done by another thread.

#include <cstddef>
#include <string>

#include "base/result.h"
#include "protocol/srt/key_material.h"

namespace service::relay {

// kSystem: no thread does it. Yields.
base::Result<::srt::AesKey> derive_srt_kek(const std::string& passphrase, const ::srt::Salt& salt, size_t key_size);

}  // namespace service::relay
