#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# switch-ports.sh BUILD_DIR - every form of port of tally-switch, with real packets.
set -u
here=$(dirname "$0")
build=${1:?usage: switch-ports.sh BUILD_DIR}
rc=0
# ip, ethtool and their like are not in an ordinary user's PATH.
export PATH="$PATH:/usr/sbin:/sbin"

if [ ! -x "$build/tally-switch" ]; then
	echo "skip switch-ports: tally-switch is not built (DPDK is missing)"
	exit 0
fi
if ! command -v python3 >/dev/null; then
	echo "skip switch-ports: python3 is missing"
	exit 0
fi
python3 -B "$here/switch_ports.py" "$build/tally-switch" host || rc=1
if unshare -Urn true 2>/dev/null; then
	unshare -Urn python3 -B "$here/switch_ports.py" "$build/tally-switch" namespace || rc=1
else
	echo "skip switch-ports af_packet: this system allows no user namespaces (unshare -Urn)"
fi
exit $rc
