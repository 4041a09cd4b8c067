#!/usr/bin/env python3
"""Carries packets between the networks of two processes, as interfaces end1 and end2, with delay,
jitter, loss and cuts: kernels without netem have no other way. Words of standard input change it;
its end ends the relay.
usage: relay.py PROCESS1 PROCESS2 [delay SECONDS] [jitter SECONDS] [loss SHARE]
"""
import collections
import ctypes
import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import sys
import time

# linux/if_tun.h
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
MOST_BYTES = 65536
MOST_PACKETS = 4000  # in one direction, as a switch would keep


def open_end(process, name):
    """An interface in the network of a process."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{process}/ns/net", "rb") as network:
        if libc.setns(network.fileno(), CLONE_NEWNET) != 0:
            sys.exit(f"no way into the network of process {process}")
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return end


class Relay:
    def __init__(self, first, second, words):
        self.ends = (open_end(first, "end1"), open_end(second, "end2"))
        self.conditions = {"delay": 0.0, "jitter": 0.0, "loss": 0.0}
        self.cut = {0: False, 1: False}
        self.waiting = []  # (time, number, end, packet), the earliest first
        self.counts, self.numbers = collections.Counter(), itertools.count()
        self.draw = random.Random(1)
        for name, value in zip(words[::2], words[1::2]):
            self.conditions[name] = float(value)

    def obey(self, line):
        words = line.split()
        if words[0] == "cut":
            for end in [int(words[1]) - 1] if len(words) > 1 else (0, 1):
                self.cut[end] = True
        elif words[0] == "mend":
            self.cut = {0: False, 1: False}
        else:
            self.conditions[words[0]] = float(words[1])

    def take(self, end):
        """All packets that an end has."""
        while True:
            try:
                packet = os.read(self.ends[end], MOST_BYTES)
            except BlockingIOError:
                return
            lost = self.cut[end] or self.draw.random() < self.conditions["loss"]
            if lost or self.counts[end] >= MOST_PACKETS:
                continue
            # Packets overtake each other where jitter is longer than the time between them.
            after = self.conditions["delay"] + self.draw.random() * self.conditions["jitter"]
            heapq.heappush(self.waiting, (time.monotonic() + after, next(self.numbers), end,
                                          packet))
            self.counts[end] += 1

    def give(self):
        """Those whose time has come; returns the seconds until the next."""
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(self.waiting)
            self.counts[end] -= 1
            try:
                os.write(self.ends[1 - end], packet)
            except OSError:
                pass  # the interface is down, or full
        return max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else None

    def run(self):
        told = b""
        while True:
            ready, _, _ = select.select([0, *self.ends], [], [], self.give())
            for end in (0, 1):
                if self.ends[end] in ready:
                    self.take(end)
            if 0 in ready:
                more = os.read(0, 4096)
                if not more:
                    return
                *lines, told = (told + more).split(b"\n")
                for line in lines:
                    self.obey(line.decode())


def main():
    relay = Relay(sys.argv[1], sys.argv[2], sys.argv[3:])
    print("ready", flush=True)
    relay.run()


main()
