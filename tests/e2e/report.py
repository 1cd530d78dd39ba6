#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report.py PAGE PRINTED: the page is well-formed, needs nothing else, and has the numbers that were printed."""

import html.parser
import re
import sys
import xml.etree.ElementTree

HTML = "{http://www.w3.org/1999/xhtml}"


class Links(html.parser.HTMLParser):
    """What would be fetched, or run."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag in ("script", "link", "img", "iframe", "object") or any(k in ("src", "href") for k, _ in attrs):
            self.found.append(tag)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    with open(sys.argv[2], encoding="utf-8") as file:
        printed = file.read()
    root = xml.etree.ElementTree.fromstring(page)
    links = Links()
    links.feed(page)
    wrong = ["it has <%s>" % tag for tag in links.found]
    if re.search(r"url\(|@import|\bnan\b|\binf\b", page):
        wrong.append("it fetches something, or has a number that is none")
    said = "".join("".join(pre.itertext()) for pre in root.iter(HTML + "pre"))
    for line in printed.splitlines():
        if re.match(r"# Result hash|# Retransmissions|rx \d|\S+ +\d+ +h\d", line) and line not in said:
            wrong.append("it lacks '%s'" % line)
    for table in root.iter(HTML + "table"):
        head = ["".join(th.itertext()) for th in table.iter(HTML + "th")]
        for row in table.iter(HTML + "tr"):
            cells = list(row.iter(HTML + "td"))
            if cells and len(cells) != len(head):
                wrong.append("a row of %d cells below %d heads" % (len(cells), len(head)))
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    for title in sys.argv[3:]:
        if title not in titles:
            wrong.append("there is no plot '%s'" % title)
    print("; ".join(wrong[:3]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
