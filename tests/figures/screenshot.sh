#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# screenshot.sh BUILD_DIR PICTURE - a page of `tally-fabric sim --report`, as headless Chromium shows it.
set -euo pipefail

top=$PWD build=$(cd "${1:?usage: $0 BUILD_DIR PICTURE}" && pwd) picture=${2:?usage: $0 BUILD_DIR PICTURE}
for browser in chromium chromium-browser google-chrome; do
	command -v "$browser" >/dev/null && break
	browser=
done
if [ -z "$browser" ]; then
	echo "make screenshot needs a headless Chromium: apt-get install chromium fonts-dejavu-core" >&2
	exit 1
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/tally-shot.XXXXXX")
trap 'rm -rf "$work"' EXIT
# Names as a user would have them: they are on the page.
ln -s "$top/topologies" "$work/topologies"
(cd "$work" && PATH=$build:$PATH tally-fabric sim topologies/two-jobs.yaml --loss 0.1% --link-rate 10G --report report \
	>/dev/null 2>&1)
# As root it has no sandbox.
sandbox=
[ "$(id -u)" -ne 0 ] || sandbox=--no-sandbox
# shellcheck disable=SC2086 # one word, or none
HOME=$work "$browser" $sandbox --headless --disable-gpu --hide-scrollbars --window-size=1180,1410 \
	--screenshot="$work/page.png" "file://$work/report/report.html" >"$work/log" 2>&1 || cat "$work/log" >&2
if [ ! -s "$work/page.png" ]; then
	echo "make screenshot: $browser has made no picture" >&2
	exit 1
fi
mv "$work/page.png" "$picture"
echo "$picture: $(stat -c %s "$picture") bytes"
