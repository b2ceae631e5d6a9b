#pragma once
// Plain pages that publish by WHIP and play by WHEP, built into the server: no files, no third-party scripts. They call
// the server that served them, so they work on localhost and over HTTPS (elsewhere browsers give no access to the
// camera).

#include <span>
#include <string_view>

namespace service::rtc {

struct Page {
    const char* path;
    const char* summary;
    std::string_view text;
};

std::span<const Page> pages();

// Internal. What each page adds to the shared part.
struct PageParts {
    std::string_view title;
    std::string_view controls;  // HTML
    std::string_view script;    // JavaScript, after the shared script
};
PageParts whip_page();
PageParts whep_page();

}  // namespace service::rtc
