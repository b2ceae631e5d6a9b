#pragma once
// FigureSeries: rows of figures (figure_code.h), one per slot of time, in little memory: 60 rows of a steady stream
// take about 150 bytes. Rows are packed in blocks, column by column: the least code of the column, and for each row the
// difference from it in as many bits as the greatest one needs; a column of zeros takes nothing. A block is dropped as
// a whole, the oldest first. Pure.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/shrink.h"

namespace service::api {

class FigureSeries {
  public:
    static constexpr size_t kMaxColumns = 32, kMaxBlockRows = 255;

    // columns: of each row. block_rows: at most so many rows are packed together.
    FigureSeries(size_t columns, size_t block_rows) : columns_(columns), block_rows_(block_rows) {
        open_.reserve(columns * block_rows);
    }

    // One code per column. Slots grow; one that does not is left out. Slots between this one and the last have no row.
    void append(uint32_t slot, std::span<const uint16_t> codes);
    // Packs the rows that are not packed yet.
    void close();
    // No row follows soon: the memory for the next ones is freed.
    void rest() {
        close();
        base::shrink(open_);
        base::shrink(packed_);
    }
    // Those that have no row from `slot` on.
    void drop_before(uint32_t slot);
    // False: there is none but the rows that are not packed yet.
    bool drop_oldest();

    // Rows in slots from <= slot < to, in order. The codes are valid during the call.
    using Visit = std::function<void(uint32_t slot, const uint16_t* codes)>;
    void visit(uint32_t from, uint32_t to, const Visit& row) const;

    std::optional<uint32_t> first_slot() const;
    std::optional<uint32_t> last_slot() const;
    size_t bytes() const { return packed_.capacity() + open_.capacity() * sizeof(uint16_t); }

  private:
    struct Head {
        uint16_t bytes;  // of the block, with this
        uint8_t rows;
        uint32_t slot;     // of the first row
        uint32_t columns;  // a bit for each that is not all zeros
    };
    static constexpr size_t kHeadBytes = 11;
    Head head_at(size_t at) const;
    bool pack_column(size_t column, std::vector<uint8_t>& out) const;
    void unpack(size_t at, const Head& head, std::vector<uint16_t>& codes) const;

    size_t columns_, block_rows_;
    std::vector<uint8_t> packed_;  // blocks, the oldest first
    std::vector<uint16_t> open_;   // rows of the block that is not packed yet
    uint32_t open_slot_ = 0;       // of its first row
    std::optional<uint32_t> last_packed_{};
};

}  // namespace service::api
