#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two simulated FPGAs, each a process on a TAP device of a Linux bridge; one sends a file of 100 MB to the other. Needs root; runs
# in a network namespace that is removed at the end.
set -eu
thalweg=${THALWEG:-.venv/bin/thalweg}
lab=lab-$$
work=$(mktemp -d)
trap 'ip netns delete $lab; rm -r "$work"' EXIT

ip netns add $lab
inside="ip netns exec $lab"
$inside sh -c 'echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6'  # stops the kernel's own frames
ip -n $lab link add br0 type bridge
for tap in tap0 tap1; do
  ip -n $lab tuntap add dev $tap mode tap
  ip -n $lab link set $tap mtu 9216 master br0 up
done
ip -n $lab link set br0 up

head -c 100000000 /dev/urandom >"$work/sent"
$inside $thalweg attach --cluster vcsn-attached --node 1 --tap tap1 --to 0.0.0 \
  --receive "$work/received" --bytes 100000000 --limit 60 >"$work/node1" &
until grep -qs ^node "$work/node1" || ! kill -0 $!; do sleep 0.1; done  # waits until the receiver is ready
$inside $thalweg attach --cluster vcsn-attached --node 0 --tap tap0 --to 1.0.0 --send "$work/sent" --limit 60
wait $!
cat "$work/node1"
cmp "$work/sent" "$work/received" && echo "received as it was sent"
