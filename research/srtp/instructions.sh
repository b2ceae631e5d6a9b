#!/bin/sh
# Instructions a packet, by callgrind: two runs of different length, so that start and end cancel out. callgrind's processor
# has neither SHA instructions nor AVX-512, and the libraries take other paths there: the figures compare those who call the
# ciphers, and say little of the ciphers. Usage: instructions.sh [NAME=FILE of a libsrtp2.so]...
set -eu
program=${OBJS:-objs}/srtp
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" --run "$@" 2>&1 | sed -n 's/.*Collected : //p'
}
{
    echo ours
    [ $# = 0 ] || printf '%s\n' "$@" | sed 's/=.*//'
} | while read -r subject; do
    for profile in gcm cm; do
        for size in 200 1200; do
            short=$(count "$subject" $profile $size 2000 "$@")
            long=$(count "$subject" $profile $size 6000 "$@")
            printf '| %-24s | %-3s | %4d | %6d |\n' "$subject" $profile $size $(((long - short) / 4000))
        done
    done
done
