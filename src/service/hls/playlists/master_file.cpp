#include "service/hls/playlists/master_file.h"

#include "runtime/disk/disk.h"

namespace service::hls {

namespace disk = runtime::disk;

void MasterFile::found() {
    // Whatever it has: it is another text than any that is set.
    if (text_.empty()) text_ = "#EXTM3U\n";
}

void MasterFile::set(const std::string& text) {
    if (text == text_) return;
    text_ = text;
    if (text.empty()) return disk::remove(path_, nullptr, true);
    disk::write_file(
        path_, text, [failed = failed_](const base::Result<void>& written) { *failed = !written.has_value(); }, owner_);
}

void MasterFile::retry() {
    if (*failed_) text_.clear();
    *failed_ = false;
}

}  // namespace service::hls
