#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""figures.py BUILD_DIR OUT_DIR [FIGURE...] - figures in the shape of published ones, from the simulator: tables, and plots
if gnuplot is there.

FIGURE is packets, loss, timeline or scale; without one, all four.  The same build prints the same numbers.
"""
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
RATE = 100  # Gbit/s of the links, where nothing else is said
ETHERNET = 24  # bytes that a line has for each packet beside what the simulator counts: preamble, check sum, gap
OURS = 64  # Ethernet, IPv4 and UDP headers, and the protocol's own
SWITCHML = 14 + 20 + 8 + 10 + ETHERNET  # the same of SwitchML's packets, on the line
WORKERS = "2,4,8,16,32,64,128,256,512,1024"

FILE = """hosts: [h1, h2, h3, h4]
switches: [s1]
links: [[h1, s1-p1], [h2, s1-p2], [h3, s1-p3], [h4, s1-p4]]
jobs:
  - name: %s
    ranks: [h1, h2, h3, h4]
    workload: {sizes: %s, iterations: %d, warmup: 1, check: 0}
    env: {TALLY_CHUNK: %d}
seed: 7
"""


class Figures:
    def __init__(self, build, out):
        self.fabric = os.path.join(build, "tally-fabric")
        self.out = out
        os.makedirs(out, exist_ok=True)

    def sim(self, path, *options):
        done = subprocess.run([self.fabric, "sim", path, *options], capture_output=True, text=True)
        if done.returncode:
            sys.exit("figures: tally-fabric sim %s %s ended with %d: %s"
                     % (path, " ".join(options), done.returncode, done.stderr.strip()))
        return done.stdout

    def run(self, name, size, iterations, chunk, *options):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(FILE % (name, size, iterations, chunk))
            f.flush()
            return self.sim(f.name, *options)

    def data(self, name, head, rows):
        """Prints a table, and puts its numbers where gnuplot finds them."""
        widths = [max(len(head[i]), *(len(r[i]) for r in rows)) for i in range(len(head))]
        print("| " + " | ".join(h.rjust(w) for h, w in zip(head, widths)) + " |")
        print("|" + "|".join("-" * (w + 1) + ":" for w in widths) + "|")
        for row in rows:
            print("| " + " | ".join(c.rjust(w) for c, w in zip(row, widths)) + " |")
        print()
        self.store(name, head, rows)

    def store(self, name, head, rows):
        with open(os.path.join(self.out, name + ".dat"), "w") as f:
            f.write("\n".join("\t".join(r) for r in [["#" + head[0]] + head[1:]] + rows) + "\n")

    def plot(self, name, *lines):
        if not shutil.which("gnuplot"):
            return
        script = ["set terminal svg size 720,420 background rgb 'white'",
                  "set output '%s'" % os.path.join(self.out, name + ".svg"), "set grid",
                  "set datafile separator '\\t'", "d = '%s'" % os.path.join(self.out, name + ".dat"), *lines]
        subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True, check=True)


def table(text):
    """The rows of `--workers` and `--timeline`, as lists of words."""
    return [line.split() for line in text.splitlines() if line.strip() and line.lstrip()[0].isdigit()]


def share(payload, extra):
    return 100 * payload / (payload + extra)


def packets(figures):
    """Line rate against packet size."""
    head = ["elements in a packet", "SwitchML, by its headers", "ours, by its headers", "ours, simulated",
            "without preamble, check sum, gap", "simulated"]
    rows = []
    for elements in (32, 64, 128, 256, 352, 365, 1024, 2208):
        payload, sim, line = 4 * elements, None, None
        if payload % 128 == 0:  # what a chunk can be
            text = figures.run("packets", "8M", 2, payload, "--workers", "4", "--mtu", "9000",
                               "--link-rate", "%dG" % RATE)
            sim = 32 * float(table(text)[0][2]) / RATE / 1e7
            # The simulator's time, with the bytes that it leaves out.
            line = sim * (payload + OURS) / (payload + OURS + ETHERNET)
        rows.append(["%d" % elements, "%.1f %%" % share(payload, SWITCHML),
                     "%.1f %%" % share(payload, OURS + ETHERNET), "%.1f %%" % line if line else "-",
                     "%.1f %%" % share(payload, OURS), "%.1f %%" % sim if sim else "-"])
    print("Share of the line rate that is values, four workers, %d Gbit/s:\n" % RATE)
    figures.data("packets", head, rows)
    figures.plot("packets", "set xlabel 'elements in a packet'", "set ylabel '% of the line rate'", "set key bottom right",
                 "set logscale x 2", "set yrange [50:100]",
                 "plot d using 1:2 with linespoints title 'SwitchML, by its headers', "
                 "d using 1:3 with lines title 'ours, by its headers', d using 1:4 with points pt 7 title 'ours, simulated'")


def loss(figures):
    """Completion time against loss, at two rates."""
    rows, first = [], {}
    for percent in (0, 0.01, 0.1, 1):
        row = ["%g %%" % percent]
        for rate in ("10G", "100G"):
            text = figures.run("loss", "16M", 4, 0, "--workers", "4", "--loss", "%g%%" % percent, "--link-rate", rate)
            us, again = float(table(text)[0][1]), table(text)[0][3]
            first.setdefault(rate, us)
            row += ["%.3f" % (us / 1000), "%.3f" % (us / first[rate]), again]
        rows.append(row)
    print("Completion time against loss in each direction of each link, four workers, 8 all-reduces of 16 MiB:\n")
    figures.data("loss", ["loss", "10 Gbit/s: ms", "of that without loss", "sent again", "100 Gbit/s: ms",
                          "of that without loss", "sent again"], rows)
    figures.plot("loss", "set style data histograms", "set style fill solid 0.6", "set xlabel 'loss'",
                 "set ylabel 'completion time, of that without loss'", "set yrange [0:*]", "set key top left",
                 "plot d using 3:xtic(1) title '10 Gbit/s', d using 6 title '100 Gbit/s'")


def timeline(figures):
    """Packets per 10 ms, sent and sent again."""
    text = figures.run("timeline", "64M", 4, 0, "--timeline", "10ms", "--loss", "1%", "--link-rate", "10G")
    rows = [r for r in table(text.split("# timeline")[1])]
    print("Packets of all ranks per 10 ms, four workers, 10 Gbit/s, 1 %% loss, 10 all-reduces of 64 MiB "
          "(%d intervals; some of them):\n" % len(rows))
    shown = [r for i, r in enumerate(rows) if i % max(1, len(rows) // 8) == 0]
    head = ["from us", "sent", "sent again", "received"]
    figures.data("timeline", head, shown)
    figures.store("timeline", head, rows)
    figures.plot("timeline", "set xlabel 'ms'", "set ylabel 'packets per 10 ms'", "set yrange [0:*]", "set key center right",
                 "plot d using ($1/1000):2 with steps lw 1.5 title 'sent', "
                 "d using ($1/1000):3 with steps lw 1.5 title 'of these again'")


def scale(figures):
    """Elements per second and worker against the number of workers."""
    text = figures.sim(os.path.join(TOP, "topologies", "scale-1024.yaml"), "--workers", WORKERS, "--compare")
    rows = [[r[0], "%.4g" % float(r[2]), "%.1f" % float(r[1])] + ["%.4g" % float(r[6])] + ["%.1f" % float(x) for x in r[4:6]]
            + ["%.4g" % float(r[9])] + ["%.1f" % float(x) for x in r[7:9]] for r in table(text)]
    print("Elements per second and worker, topologies/scale-1024.yaml, 4 all-reduces of 1 MiB:\n")
    figures.data("scale", ["workers", "ours", "us", "ring", "us", "by the formula", "parameter server", "us",
                           "by the formula"], rows)
    figures.plot("scale", "set xlabel 'workers'", "set ylabel 'elements per second and worker'", "set logscale xy",
                 "set logscale x 2", "set key bottom left",
                 "plot d using 1:2 with linespoints title 'ours', d using 1:4 with linespoints title 'ring', "
                 "d using 1:7 with linespoints title 'parameter server'")


FIGURES = {"packets": packets, "loss": loss, "timeline": timeline, "scale": scale}


def main(args):
    if len(args) < 2 or any(a not in FIGURES for a in args[2:]):
        sys.exit(__doc__)
    figures = Figures(args[0], args[1])
    for name in args[2:] or FIGURES:
        FIGURES[name](figures)
        sys.stdout.flush()
    if shutil.which("gnuplot"):
        print("plots: %s/*.svg" % args[1])
    else:
        print("no plots: gnuplot is missing (Debian package gnuplot-nox); their numbers are in %s/*.dat" % args[1])


if __name__ == "__main__":
    main(sys.argv[1:])
