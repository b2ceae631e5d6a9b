#pragma once
// SectionReader: the sections of one PID (ISO/IEC 13818-1, 2.4.4), from the payloads of its packets. Tables are
// repeated ten times a second: a section that is the last one again is recognized by comparing its bytes, before its
// CRC is computed. It does not read what is in a section.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ts {

class SectionReader {
  public:
    static constexpr size_t kMaxSection = 1024;  // bytes, of the tables that are read here
    // A whole section of the table, whose CRC is right. False: it is malformed.
    using Take = std::function<bool(std::span<const uint8_t>)>;

    explicit SectionReader(uint8_t table) : table_(table) {}

    // A packet's payload; starts: a section begins in it. Returns the number of malformed sections.
    uint64_t feed(std::span<const uint8_t> payload, bool starts, const Take& take);
    // Packets are missing.
    void drop() { open_ = false; }
    // The next section is read even if it is the last one again.
    void forget() { last_.clear(); }

  private:
    uint64_t append(std::span<const uint8_t> bytes, const Take& take);
    bool take_whole(std::span<const uint8_t> section, const Take& take);

    uint8_t table_;
    bool open_ = false;
    std::vector<uint8_t> bytes_;  // of the unfinished one
    std::vector<uint8_t> last_;   // read without an error
};

}  // namespace ts
