#include "service/api/history/figure_series.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/result.h"

namespace service::api {

FigureSeries::Head FigureSeries::head_at(size_t at) const {
    Head head{};
    std::memcpy(&head.bytes, &packed_[at], 2);
    head.rows = packed_[at + 2];
    std::memcpy(&head.slot, &packed_[at + 3], 4);
    std::memcpy(&head.columns, &packed_[at + 7], 4);
    return head;
}

void FigureSeries::append(uint32_t slot, std::span<const uint16_t> codes) {
    CHECK(codes.size() == columns_ && columns_ <= kMaxColumns && block_rows_ <= kMaxBlockRows);
    if (const auto last = last_slot(); last && slot <= *last) return;
    const size_t rows = open_.size() / columns_;
    if (rows == block_rows_ || (rows > 0 && slot != open_slot_ + rows)) close();
    if (open_.empty()) {
        open_.reserve(block_rows_ * columns_);
        open_slot_ = slot;
    }
    open_.insert(open_.end(), codes.begin(), codes.end());
}

// False: the column is all zeros.
bool FigureSeries::pack_column(size_t column, std::vector<uint8_t>& out) const {
    uint16_t least = UINT16_MAX, most = 0;
    for (size_t i = column; i < open_.size(); i += columns_) {
        least = std::min(least, open_[i]);
        most = std::max(most, open_[i]);
    }
    if (most == 0) return false;
    const auto width = static_cast<uint8_t>(std::bit_width(static_cast<unsigned>(most - least)));
    out.push_back(static_cast<uint8_t>(least));
    out.push_back(static_cast<uint8_t>(least >> 8));
    out.push_back(width);
    if (width == 0) return true;
    uint32_t bits = 0;
    int count = 0;
    for (size_t i = column; i < open_.size(); i += columns_) {
        bits |= static_cast<uint32_t>(open_[i] - least) << count;
        for (count += width; count >= 8; count -= 8, bits >>= 8) out.push_back(static_cast<uint8_t>(bits));
    }
    if (count > 0) out.push_back(static_cast<uint8_t>(bits));
    return true;
}

void FigureSeries::close() {
    if (open_.empty()) return;
    const size_t rows = open_.size() / columns_;
    std::vector<uint8_t> block(kHeadBytes);
    uint32_t columns = 0;
    for (size_t column = 0; column < columns_; ++column)
        if (pack_column(column, block)) columns |= 1u << column;
    const Head head{static_cast<uint16_t>(block.size()), static_cast<uint8_t>(rows), open_slot_, columns};
    std::memcpy(&block[0], &head.bytes, 2);
    block[2] = head.rows;
    std::memcpy(&block[3], &head.slot, 4);
    std::memcpy(&block[7], &head.columns, 4);
    // Doubling would leave half of the memory unused.
    const size_t size = packed_.size() + block.size();
    if (size > packed_.capacity()) packed_.reserve(size + size / 8);
    packed_.insert(packed_.end(), block.begin(), block.end());
    last_packed_ = open_slot_ + static_cast<uint32_t>(rows) - 1;
    open_.clear();
}

bool FigureSeries::drop_oldest() {
    if (packed_.empty()) return false;
    packed_.erase(packed_.begin(), packed_.begin() + head_at(0).bytes);
    if (packed_.capacity() - packed_.size() > packed_.size() / 4) base::shrink(packed_);
    return true;
}

void FigureSeries::drop_before(uint32_t slot) {
    while (!packed_.empty()) {
        const Head head = head_at(0);
        if (head.slot + head.rows > slot) return;
        drop_oldest();
    }
}

std::optional<uint32_t> FigureSeries::first_slot() const {
    if (!packed_.empty()) return head_at(0).slot;
    return open_.empty() ? std::nullopt : std::optional(open_slot_);
}

std::optional<uint32_t> FigureSeries::last_slot() const {
    if (open_.empty()) return last_packed_;
    return open_slot_ + static_cast<uint32_t>(open_.size() / columns_) - 1;
}

void FigureSeries::unpack(size_t at, const Head& head, std::vector<uint16_t>& codes) const {
    codes.assign(head.rows * columns_, 0);
    at += kHeadBytes;
    for (size_t column = 0; column < columns_; ++column) {
        if ((head.columns >> column & 1) == 0) continue;
        const auto least = static_cast<uint16_t>(packed_[at] | packed_[at + 1] << 8);
        const int width = packed_[at + 2];
        at += 3;
        uint32_t bits = 0;
        int count = 0;
        for (size_t row = 0; row < head.rows; ++row) {
            for (; count < width; count += 8) bits |= static_cast<uint32_t>(packed_[at++]) << count;
            codes[row * columns_ + column] = static_cast<uint16_t>(least + (bits & ((1u << width) - 1)));
            bits >>= width;
            count -= width;
        }
    }
}

void FigureSeries::visit(uint32_t from, uint32_t to, const Visit& row) const {
    std::vector<uint16_t> codes;
    const auto visit_rows = [&](uint32_t slot, size_t rows, const uint16_t* first) {
        for (size_t i = 0; i < rows; ++i, ++slot)
            if (slot >= from && slot < to) row(slot, first + i * columns_);
    };
    for (size_t at = 0; at < packed_.size();) {
        const Head head = head_at(at);
        if (head.slot < to && head.slot + head.rows > from) {
            unpack(at, head, codes);
            visit_rows(head.slot, head.rows, codes.data());
        }
        at += head.bytes;
    }
    visit_rows(open_slot_, open_.size() / columns_, open_.data());
}

}  // namespace service::api
