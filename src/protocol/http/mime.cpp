#include "protocol/http/mime.h"

#include "protocol/http/headers.h"

namespace http {

namespace {
struct Row {
    std::string_view extension;
    std::string_view type;
};
constexpr Row kTypes[] = {
    {"html", "text/html; charset=utf-8"},
    {"htm", "text/html; charset=utf-8"},
    {"css", "text/css; charset=utf-8"},
    {"js", "text/javascript; charset=utf-8"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"json", "application/json"},
    {"map", "application/json"},
    {"txt", "text/plain; charset=utf-8"},
    {"xml", "text/xml; charset=utf-8"},
    {"m3u8", "application/vnd.apple.mpegurl"},
    {"m3u", "application/vnd.apple.mpegurl"},
    {"mpd", "application/dash+xml"},
    {"ts", "video/mp2t"},
    {"flv", "video/x-flv"},
    {"mp4", "video/mp4"},
    {"m4s", "video/iso.segment"},
    {"m4v", "video/mp4"},
    {"m4a", "audio/mp4"},
    {"webm", "video/webm"},
    {"mkv", "video/x-matroska"},
    {"aac", "audio/aac"},
    {"mp3", "audio/mpeg"},
    {"opus", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"wav", "audio/wav"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"gif", "image/gif"},
    {"webp", "image/webp"},
    {"svg", "image/svg+xml"},
    {"ico", "image/x-icon"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"ttf", "font/ttf"},
    {"wasm", "application/wasm"},
    {"pdf", "application/pdf"},
    {"gz", "application/gzip"},
    {"zip", "application/zip"},
};
}  // namespace

std::string_view mime_type(std::string_view path) {
    std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
    size_t dot = name.rfind('.');
    if (dot != std::string_view::npos)
        for (const Row& row : kTypes)
            if (equal_ignoring_case(name.substr(dot + 1), row.extension)) return row.type;
    return "application/octet-stream";
}

}  // namespace http
