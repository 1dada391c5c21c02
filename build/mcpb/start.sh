#!/bin/sh
# Claude Desktop unpacks extensions without anybody's right to execute them. So it has sh read this,
# which gives the program that right.
program=$(dirname "$0")/forevervm-extension-$(uname -m)
[ -x "$program" ] || chmod u+x "$program"
exec "$program"
