// The same for tests.

#include <gtest/gtest.h>

#include "base/precompiled.h"
