"""Where the members of a cluster run: on 127.0.0.1, or each in a network namespace of its own, so that the way between
two of them can be interrupted."""

import itertools
import os
import subprocess

NOBODY = "02:00:00:00:00:01"  # a hardware address that no interface has

COUNT = itertools.count()  # what was deleted may be there for a while


class NotPermitted(Exception):
    pass


class Loopback:
    def address(self, _name):
        return "127.0.0.1"

    def command(self, _name):
        """What stands before the command of a member."""
        return []

    def close(self):
        pass


class Namespaces(Loopback):
    """A bridge of this machine with a pair of veth for each member. They are deleted at the end."""

    def __init__(self, names):
        self.prefix = f"f{os.getpid() % 100_000}x{next(COUNT)}"
        self.network = f"198.18.{os.getpid() % 250}"  # of RFC 2544, for measurements
        self.numbers = {name: 2 + index for index, name in enumerate(names)}
        self.made = []
        try:
            self.make()
        except NotPermitted:
            self.close()
            raise

    def make(self):
        bridge = f"{self.prefix}br"
        ip("link", "add", bridge, "type", "bridge")
        self.made.append(["link", "del", bridge])
        ip("addr", "add", f"{self.network}.1/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        for name, number in self.numbers.items():
            space, outer = self.space(name), f"{self.prefix}v{number}"
            ip("netns", "add", space)
            self.made.append(["netns", "del", space])
            ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", space)
            self.made.append(["link", "del", outer])
            ip("link", "set", outer, "master", bridge, "up")
            ip("-n", space, "link", "set", "lo", "up")
            ip("-n", space, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")

    def space(self, name):
        return f"{self.prefix}-{name}"

    def address(self, name):
        return f"{self.network}.{self.numbers[name]}"

    def command(self, name):
        return ["ip", "netns", "exec", self.space(name)]

    def cut(self, one, other):
        """What they send to each other goes to nobody, and no error comes back."""
        for here, there in ((one, other), (other, one)):
            entry = ["neigh", "replace", self.address(there), "lladdr", NOBODY, "nud", "permanent", "dev", "eth0"]
            ip("-n", self.space(here), *entry)

    def join(self, one, other):
        for here, there in ((one, other), (other, one)):
            ip("-n", self.space(here), "neigh", "del", self.address(there), "dev", "eth0")

    def close(self):
        while self.made:
            subprocess.run(["ip", *self.made.pop()], capture_output=True, check=False)


def ip(*words):
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise NotPermitted(f"ip: {error}") from None
    if done.returncode != 0:
        raise NotPermitted(f"ip {' '.join(words)}: {done.stderr.strip()}")
