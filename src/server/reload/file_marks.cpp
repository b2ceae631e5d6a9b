#include "server/reload/file_marks.h"

namespace server {

FileMark mark_of(const std::string& path, const struct stat& info) {
    FileMark mark{path, true, info.st_dev, info.st_ino, info.st_size, 0};
    mark.changed_ns = info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec;
    return mark;
}

FileMark mark_of_missing(const std::string& path) {
    FileMark mark;
    mark.path = path;
    return mark;
}

FileMarks read_again(const FileMarks& marks) {
    FileMarks now;
    for (const FileMark& mark : marks) {
        struct stat info;
        now.push_back(stat(mark.path.c_str(), &info) == 0 ? mark_of(mark.path, info) : mark_of_missing(mark.path));
    }
    return now;
}

}  // namespace server
