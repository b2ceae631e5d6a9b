#!/bin/sh -e
# Runs objs/senders in a network namespace of its own, against a device that takes and drops what is sent, as a card
# does whose sending is free. As root. Arguments: as those of objs/senders after ADDRESS. In its own scheduling class it
# gets the processors, for windows of half a second:
#     chrt -r 20 research/senders/measure.sh 0.5 8
here=$(dirname "$0")
space=senders-$$
ip netns add "$space"
trap 'ip netns delete "$space"' EXIT
in_space() { ip netns exec "$space" "$@"; }
# An ifb drops what was not redirected to it. A queue would be one lock for all threads.
in_space ip link add sink numtxqueues 2 type ifb
in_space ip address add 10.9.0.1/16 dev sink
in_space ip link set sink up
in_space tc qdisc replace dev sink root noqueue
in_space "${OBJS:-$here/../../objs}/senders" 10.9.0.2 "$@"
