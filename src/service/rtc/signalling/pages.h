#pragma once
// Plain pages that publish by WHIP and play by WHEP, part of the server: no file, no script of others. They call the
// server that they came from, so they work on localhost and over HTTPS (elsewhere browsers give no camera).

#include <span>
#include <string_view>

namespace service::rtc {

struct Page {
    const char* path;
    const char* summary;
    std::string_view text;
};

std::span<const Page> pages();

// Internal. What a page adds to what both share.
struct PageParts {
    std::string_view title;
    std::string_view controls;  // HTML
    std::string_view script;    // JavaScript, behind the shared one
};
PageParts whip_page();
PageParts whep_page();

}  // namespace service::rtc
