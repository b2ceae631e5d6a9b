#pragma once
// The command `srs why URL`: asks the running server by its API, at the address and with the credentials of the
// configuration; where none answers, it evaluates the configuration alone, and says so.

#include "config/snapshot.h"
#include "server/why/question.h"

namespace server::why {

// Prints the result; returns the exit code: 0: nothing is in the way; 1: something was found.
int run(const config::Snapshot& snapshot, const Question& question);

}  // namespace server::why
