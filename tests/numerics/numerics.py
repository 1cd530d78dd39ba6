#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures errors of sums and puts them into docs/numerics.md, as tables, and docs/numerics.svg, as a plot.

usage: numerics.py BUILD_DIR [NAME.RANKS.f32 ...]

Without files: the built-in sets, the plot, and whether the goals are met. With files, which hold raw
float32 of one rank after the other: the tables of gradients from elsewhere.
"""

import os
import re
import shutil
import subprocess
import sys

DOC, PLOT = "docs/numerics.md", "docs/numerics.svg"
BUILT_IN, FILES = "errors", "errors of files"
# Type, way, heading.
COLUMNS = [
    ("f32", "int32", "int32"), ("f32", "int16", "int16"), ("f32", "one scale", "int32, one scale"),
    ("f32", "f32 ring", "float32 ring"), ("f32", "f16 ring", "float16 ring"),
    ("f32", "bf16 ring", "bfloat16 ring"),
    ("f16", "int32", "int32"), ("f16", "int16", "int16"), ("f16", "f16 ring", "float16 ring"),
    ("bf16", "int32", "int32"), ("bf16", "int16", "int16"), ("bf16", "bf16 ring", "bfloat16 ring"),
]
L2, OF_BLOCK, OF_OWN = range(3)


def measure(build, files):
    """{(set, n): {(type, way): (L2, of block, of own)}}, in the program's order."""
    done = subprocess.run([os.path.join(build, "tests/numerics/errors")] + files,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    rows = {}
    for line in done.stdout.splitlines():
        name, n, kind, way, *errors = line.split("\t")
        rows.setdefault((name, int(n)), {})[kind, way] = tuple(float(e) for e in errors)
    return rows


def table(rows, which, columns=None, only=None):
    columns = columns or COLUMNS
    heads = ["%s: %s" % (kind, head) for kind, _, head in columns]
    lines = ["| data | n | " + " | ".join(heads) + " |", "| --- | --- |" + " --- |" * len(heads)]
    for (name, n), row in rows.items():
        if only and n not in only:
            continue
        cells = ["%.1e" % row[kind, way][which] for kind, way, _ in columns]
        lines.append("| %s | %d | %s |" % (name, n, " | ".join(cells)))
    return lines


def goals(rows):
    """A sentence for each pair of ring and goal that is missed, and how many are met."""
    missed, met = [], 0
    for (name, n), row in rows.items():
        if n > 64:
            continue
        factor = 1 if n <= 8 else 2
        ratio = row["f32", "int32"][L2] / row["f32", "f32 ring"][L2]
        if ratio <= factor:
            met += 1
        else:
            missed.append("%s, n = %d: %.4f times the ring's, at most %d wanted"
                          % (name, n, ratio, factor))
    return missed, met


def text(rows):
    missed, met = goals(rows)
    lines = ["Relative L2 error:", ""] + table(rows, L2)
    lines += ["", "Largest error of an element, relative to the largest sum of magnitudes in its block:",
              ""] + table(rows, OF_BLOCK)
    lines += ["", "The same, relative to the sum of magnitudes of that very element:", ""]
    lines += table(rows, OF_OWN, [c for c in COLUMNS if c[0] == "f32"], (8, 64))
    lines += ["", "Goals (float32 through int32: at most the float32 ring's L2 error for n <= 8, at "
              "most twice that for n <= 64): %d of %d are met%s"
              % (met, met + len(missed), "." if not missed else "; missed:"), ""]
    return lines + ["- " + line for line in missed]


def splice(mark, lines):
    begin, end = "<!-- %s -->" % mark, "<!-- end of %s -->" % mark
    with open(DOC, encoding="utf-8") as file:
        old = file.read().split("\n")
    if begin not in old or end not in old:
        sys.exit("%s has no lines '%s' and '%s'" % (DOC, begin, end))
    new = old[:old.index(begin) + 1] + [""] + lines + [""] + old[old.index(end):]
    with open(DOC, "w", encoding="utf-8") as file:
        file.write("\n".join(new))


# Way, title, colour, dashes.
CURVES = [("int32", "int32", "#0060c0", 1), ("int16", "int16", "#c00000", 1),
          ("one scale", "one scale", "#909090", 1), ("f32 ring", "f32 ring", "#0060c0", 2),
          ("f16 ring", "f16 ring", "#c00000", 2), ("bf16 ring", "bf16 ring", "#008000", 2)]


def plot(rows):
    """Relative L2 error of float32 sums over n, a panel for each set."""
    names = list(dict.fromkeys(name for name, _ in rows))
    ticks = sorted({n for _, n in rows})
    script = ["set terminal svg size 900,600 font 'sans,11' noenhanced",
              "set output '%s'" % PLOT, "set multiplot layout 2,%d" % ((len(names) + 1) // 2),
              "set logscale x 2", "set logscale y 10", "set format y '%.0e'", "set mytics 1",
              "set yrange [1e-8:1e-1]", "set xrange [2:64.01]", "set grid ytics",
              "set xtics (%s)" % ",".join(map(str, ticks)),
              "set xlabel 'ranks'"]
    for at, name in enumerate(names):
        script.append("$d%d << EOD" % at)
        script += ["%d %s" % (n, " ".join("%g" % row["f32", way][L2] for way, *_ in CURVES))
                   for (own, n), row in rows.items() if own == name]
        script.append("EOD")
    for at, name in enumerate(names):
        script += ["set title '%s'" % name,
                   "set key at graph 0.98,0.55 right top maxrows 3 font ',8' samplen 1.5 width -2" if at == 0 else "unset key",
                   "set ylabel '%s'" % ("relative L2 error" if at % 3 == 0 else ""),
                   "plot " + ", ".join("$d%d using 1:%d with lines lc rgb '%s' dt %d lw 1.5 title '%s'"
                                       % (at, c + 2, colour, dash, title)
                                       for c, (_, title, colour, dash) in enumerate(CURVES))]
    subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True, check=True)
    with open(PLOT, encoding="utf-8") as file:
        drawn = file.read()
    for n in ticks:
        if len(re.findall(">\\s*%d</" % n, drawn)) != len(names):
            sys.exit("%s: not every panel has the label %d" % (PLOT, n))


def main(args):
    if not args:
        sys.exit(__doc__)
    rows = measure(args[0], args[1:])
    splice(FILES if args[1:] else BUILT_IN, text(rows))
    print("\n".join(text(rows)))
    if args[1:]:
        return
    if shutil.which("gnuplot"):
        plot(rows)
    else:
        print("%s is not drawn anew: gnuplot is missing (Debian package gnuplot-nox)" % PLOT)


if __name__ == "__main__":
    main(sys.argv[1:])
