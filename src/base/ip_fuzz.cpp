// Fuzzes addresses and networks: what parses must print as text that parses to the same value.

#include <cstdint>
#include <string_view>

#include "base/ip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    if (auto address = base::IpAddress::parse(text)) {
        if (base::IpAddress::parse(address->text()) != address) __builtin_trap();
        if (!base::IpNetwork::parse(text)) __builtin_trap();
    }
    if (auto network = base::IpNetwork::parse(text)) {
        if (!network->contains(network->address())) __builtin_trap();
        if (base::IpNetwork::parse(network->text()) != network) __builtin_trap();
    }
    return 0;
}
