#pragma once
// The end of a measuring program whose call to the system failed.

#include <cstdio>
#include <cstdlib>

[[noreturn]] inline void die(const char* what) {
    std::perror(what);
    std::exit(1);
}
