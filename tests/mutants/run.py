#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Breaks the product one rule at a time and shows which check finds out.

usage: run.py [--all | --matrix] [WORD]

The mutants are in rules.txt beside this program; with WORD only those whose title has it. The tree
is copied to a temporary folder, and what a mutant touches is built there and checked until one
check fails: explorers and the simulator first, then the rest. A mutant has to be found by an
explorer or the simulator, save those that rules.txt marks as other, with the reason.

--matrix  all explorers and the simulator, whatever has failed before: a column for each; for the
          simulator the first seed
--all     all checks, and names every one that fails
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
COPIED = ("Makefile", "proto", "kernels", "switch", "host", "topologies", "tests", "docs")
LIMIT_S = 300
SEEDS = "3000"

# A check: kind, name, program, arguments, and the files that it is tried on mutants of.
SWITCH, HOST, PROTO = "switch/", "host/", "proto/"
SLOTS = ("switch/core/slot.c",)
TREES = ("switch/core/agg_up.c", "switch/core/agg_join.c", "switch/core/slot.c",
         "switch/core/agg_data.c")
FORMING = ("switch/core/agg", "switch/core/job", "host/core/session.c")
EXPLORER, SIMULATOR, OTHER = "explorer", "simulator", "other"
CHECKS = [
    (EXPLORER, "slots", "tests/explore/explore_slot", [], SLOTS),
    (EXPLORER, "trees", "tests/explore/explore_tree", [], TREES),
    (SIMULATOR, "simulator", "tests/sim/sim", ["--brief", "--seeds", SEEDS],
     (SWITCH, HOST, PROTO)),
    (EXPLORER, "joins", "tests/explore/explore_tree_join", [], FORMING),
    (EXPLORER, "lanes", "tests/explore/explore_lanes", [], SLOTS),
    (OTHER, "second implementation", "tests/second/driver", ["12000"], (SWITCH, PROTO)),
    (OTHER, "wire_test", "tests/unit/wire_test", [], (PROTO,)),
    (OTHER, "wire_body_test", "tests/unit/wire_body_test", [], (PROTO,)),
    (OTHER, "machines_test", "tests/unit/machines_test", [], (SWITCH, HOST)),
    (OTHER, "slot_test", "tests/unit/slot_test", [], SLOTS),
    (OTHER, "agg_data_test", "tests/unit/agg_data_test", [], (SWITCH,)),
    (OTHER, "agg_join_test", "tests/unit/agg_join_test", [], (SWITCH,)),
    (OTHER, "agg_rival_test", "tests/unit/agg_rival_test", [], (SWITCH,)),
    (OTHER, "agg_want_test", "tests/unit/agg_want_test", [], (SWITCH,)),
    (OTHER, "agg_talk_test", "tests/unit/agg_talk_test", [], (SWITCH,)),
    (OTHER, "agg_test", "tests/unit/agg_test", [], (SWITCH,)),
    (OTHER, "job_test", "tests/unit/job_test", [], (SWITCH,)),
    (OTHER, "pipe_test", "tests/unit/pipe_test", [], (SWITCH,)),
    (OTHER, "agg_tree_test", "tests/unit/agg_tree_test", [], (SWITCH,)),
    (OTHER, "agg_up_test", "tests/unit/agg_up_test", [], (SWITCH,)),
    (OTHER, "tree_test", "tests/unit/tree_test", [], (SWITCH,)),
    (OTHER, "session_test", "tests/unit/session_test", [], (HOST,)),
    (OTHER, "coll_test", "tests/unit/coll_test", [], (HOST,)),
    (OTHER, "lane_test", "tests/unit/lane_test", [], (HOST,)),
    (OTHER, "engine_test", "tests/unit/engine_test", [], ("host/engine.c",)),
]


class Mutant:
    def __init__(self, title, path, old, new, other):
        self.title, self.path, self.old, self.new, self.other = title, path, old, new, other


def read_mutants(path):
    """A title in brackets, the file, then old lines behind '-' and new ones behind '+'."""
    mutants, title, name, old, new, other = [], None, None, [], [], ""

    def add():
        if title:
            mutants.append(Mutant(title, name, "\n".join(old), "\n".join(new), other))

    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("["):
                add()
                title, name, old, new, other = line[1:-1], None, [], [], ""
            elif line.startswith("-"):
                old.append(line[1:])
            elif line.startswith("+"):
                new.append(line[1:])
            elif line.startswith("other: "):
                other = line[len("other: "):]
            elif line and not line.startswith("#"):
                name = line
    add()
    return mutants


class Workshop:
    """A copy of the tree, built once, in which one file at a time is broken."""

    def __init__(self, folder, kinds):
        self.tree = os.path.join(folder, "tree")
        self.build = os.path.join(folder, "build")
        os.mkdir(self.tree)
        for part in COPIED:
            source, to = os.path.join(TREE, part), os.path.join(self.tree, part)
            if os.path.isdir(source):
                shutil.copytree(source, to, symlinks=True)
            else:
                shutil.copy2(source, to)
        self.checks = [c for c in CHECKS if c[0] in kinds
                       and os.path.exists(os.path.join(self.tree, c[2] + ".c"))]

    def make(self, checks):
        """What went wrong, or nothing. Fast enough to run, and fast enough to build."""
        targets = [os.path.join(self.build, check[2]) for check in checks]
        jobs = "-j%s" % os.environ.get("JOBS", "1")
        env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MODE", "B")}
        made = subprocess.run(["make", "-s", jobs, "MODE=debug", "OPT_debug=-O1", "WERROR=",
                               "B=" + self.build] + targets, cwd=self.tree,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env,
                              check=False)
        return made.stdout if made.returncode else ""

    def fails(self, check):
        """How the check finds fault with what is built, or nothing; a crash or a hang is one, too."""
        program = os.path.join(self.build, check[2])
        command, env = [program] + check[3], dict(os.environ)
        if check[2].endswith("driver"):
            command = [sys.executable, "tests/second/second.py"] + check[3]
            env["SECOND_DRIVER"] = program
        try:
            ran = subprocess.run(command, cwd=self.tree, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, timeout=LIMIT_S, env=env,
                                 errors="replace", check=False)
        except subprocess.TimeoutExpired:
            return "no end"
        if ran.returncode == 0:
            return ""
        seed = re.search(r"seed (\d+)", ran.stdout)
        return "seed " + seed.group(1) if seed and check[0] == SIMULATOR else "found"

    def checks_of(self, path):
        return [c for c in self.checks if path.startswith(c[4])]

    def catch(self, mutant, go_on):
        """The checks that fail, each with how; None: the mutant does not apply or compile."""
        path = os.path.join(self.tree, mutant.path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.count(mutant.old) != 1 or not mutant.old:
            print("       its text is in %s %d times" % (mutant.path, text.count(mutant.old)))
            return None
        caught = []
        try:
            self.write(path, text.replace(mutant.old, mutant.new))
            for check in self.checks_of(mutant.path):
                complaint = self.make([check])
                if complaint:
                    print(re.sub("^", "       ", complaint.rstrip(), flags=re.M))
                    return None
                how = self.fails(check)
                if how:
                    caught.append((check, how))
                    if not go_on:
                        break
        finally:
            self.write(path, text)
        return caught

    def write(self, path, text):
        """Its object goes, so that make need not tell two times of the same tick apart."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        stem = os.path.splitext(os.path.relpath(path, self.tree))[0]
        if os.path.exists(os.path.join(self.build, stem + ".o")):
            os.remove(os.path.join(self.build, stem + ".o"))


def told(check, how):
    words = {EXPLORER: "explorer of " + check[1], SIMULATOR: "simulator, " + how}
    return words.get(check[0], check[1])


def judge(mutant, caught):
    """What is said of a mutant, and whether that is as it should be."""
    if caught is None:
        return "NOT TRIED", False
    if not caught:
        return "NOT CAUGHT", False
    names = ", ".join(told(*one) for one in caught)
    if any(check[0] != OTHER for check, _ in caught):
        return names, True
    if mutant.other:
        return "%s (other: %s)" % (names, mutant.other), True
    return "only " + names + ", NEITHER EXPLORER NOR SIMULATOR", False


def run(folder, mutants, mode):
    kinds = (EXPLORER, SIMULATOR) if mode == "--matrix" else (EXPLORER, SIMULATOR, OTHER)
    shop = Workshop(folder, kinds)
    complaint = shop.make(shop.checks)
    if complaint:
        print(complaint)
        print("not ok: the tree itself does not build")
        return 1
    for check in shop.checks:
        if shop.fails(check):
            print("not ok: %s fails without any mutant" % check[1])
            return 1
    right, by = 0, {EXPLORER: 0, SIMULATOR: 0, OTHER: 0}
    for mutant in mutants:
        caught = shop.catch(mutant, bool(mode))
        verdict, fine = judge(mutant, caught)
        if not fine and mode == "--matrix" and mutant.other:
            verdict, fine = "other: " + mutant.other, True
        right += fine
        kind = {check[0] for check, _ in caught or []}
        for one in kind if mode else kind - (set() if len(kind) == 1 else {OTHER}):
            by[one] += 1
        print("%s %s: %s" % ("ok    " if fine else "not ok", mutant.title, verdict), flush=True)
    others = sum(1 for m in mutants if m.other)
    print("%d of %d mutants as they should be; %s explorers %d, simulator %d, others %d; %d are "
          "by nature for others" % (right, len(mutants), "found by" if mode else "first found by",
                                    by[EXPLORER], by[SIMULATOR], by[OTHER], others))
    return 0 if right == len(mutants) else 1


def main():
    modes = [word for word in sys.argv[1:] if word in ("--all", "--matrix")]
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if len(modes) + len(words) != len(sys.argv) - 1 or len(modes) > 1 or len(words) > 1:
        print(__doc__)
        return 2
    mutants = [m for m in read_mutants(os.path.join(HERE, "rules.txt"))
               if not words or words[0] in m.title]
    with tempfile.TemporaryDirectory(prefix="tally-mutants.") as folder:
        return run(folder, mutants, modes[0] if modes else "")


sys.exit(main())
