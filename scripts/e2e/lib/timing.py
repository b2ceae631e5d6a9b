"""How much slower than normal the server under test is expected to be, and waiting for things."""

import os
import time

VALGRIND = os.environ.get("SRS_E2E_VALGRIND") == "1"
# Multiplies time limits: sanitizer and valgrind builds are slower.
SLOW = float(os.environ.get("SRS_E2E_SLOW", "8" if VALGRIND else "1"))


def scaled(seconds):
    return seconds * SLOW


def wait_until(condition, seconds, what, step=0.02):
    """The condition's first true value. Fails with what, which may be a function, after that many (scaled) seconds."""
    end = time.monotonic() + scaled(seconds)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {scaled(seconds):.1f} s: {what() if callable(what) else what}")
        time.sleep(step)
