#include "service/rtc/pages.h"

namespace service::rtc {

std::span<const Page> pages() {
    static const Page kPages[] = {
        {"/players/whip.html", "A page that publishes by WHIP", whip_page()},
        {"/players/whep.html", "A page that plays by WHEP", whep_page()},
    };
    return kPages;
}

}  // namespace service::rtc
