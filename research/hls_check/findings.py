"""What was found: each rule once for each place, with the first case and the number of cases."""

import threading

from .rules import ERROR, RULES


class Finding:
    def __init__(self, rule, where, expected, came):
        self.rule, self.where, self.expected, self.came = RULES[rule], where, expected, came
        self.count = 1

    def as_json(self):
        return {"rule": self.rule.id, "paragraph": self.rule.paragraph, "severity": self.rule.severity,
                "text": self.rule.text, "where": self.where, "expected": str(self.expected), "came": str(self.came),
                "count": self.count}  # fmt: skip

    def __str__(self):
        times = f" ({self.count} times)" if self.count > 1 else ""
        return (f"{self.rule.severity}: {self.rule.id} [{self.rule.paragraph}] {self.where}: {self.rule.text};"
                f" expected {self.expected}, came {self.came}{times}")  # fmt: skip


class Findings:
    def __init__(self):
        self._all = {}
        self._lock = threading.Lock()

    def add(self, rule, where, expected, came):
        """where: the playlist, without what differs from case to case."""
        with self._lock:
            found = self._all.get((rule, where))
            if found:
                found.count += 1
            else:
                self._all[rule, where] = Finding(rule, where, expected, came)

    def all(self):
        """Errors first."""
        with self._lock:
            return sorted(self._all.values(), key=lambda one: one.rule.severity != ERROR)

    def errors(self):
        return [one for one in self.all() if one.rule.severity == ERROR]

    def ids(self):
        return {one.rule.id for one in self.all()}
