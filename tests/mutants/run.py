#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Breaks the product one rule at a time and shows which check finds out.

usage: run.py [--all] [WORD]

The mutants are in rules.txt beside this program; with WORD only those whose title has it. The tree
is copied to a temporary folder, and what a mutant touches is built there and checked until one
check fails. --all goes on and names every check that fails.
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
LIMIT_S = 120

# (name, program, arguments); a check runs on the mutants of the folders named behind it.
SWITCH, HOST, PROTO = "switch/", "host/", "proto/"
TREES = ("switch/core/agg_up.c", "switch/core/agg_join.c", "switch/core/slot.c",
         "switch/core/agg_data.c")
CHECKS = [
    ("explorer of slots", "tests/explore/explore_slot", [], ("switch/core/slot.c",)),
    ("second implementation", "tests/second/driver", ["12000"], (SWITCH, PROTO)),
    ("simulator", "tests/sim/sim", ["--seeds", "300"], (SWITCH, HOST)),
    ("explorer of trees", "tests/explore/explore_tree", [], TREES),
    ("wire_test", "tests/unit/wire_test", [], (PROTO,)),
    ("wire_body_test", "tests/unit/wire_body_test", [], (PROTO,)),
    ("machines_test", "tests/unit/machines_test", [], (SWITCH, HOST)),
    ("slot_test", "tests/unit/slot_test", [], ("switch/core/slot.c",)),
    ("agg_data_test", "tests/unit/agg_data_test", [], (SWITCH,)),
    ("agg_join_test", "tests/unit/agg_join_test", [], (SWITCH,)),
    ("agg_talk_test", "tests/unit/agg_talk_test", [], (SWITCH,)),
    ("agg_test", "tests/unit/agg_test", [], (SWITCH,)),
    ("job_test", "tests/unit/job_test", [], (SWITCH,)),
    ("pipe_test", "tests/unit/pipe_test", [], (SWITCH,)),
    ("agg_tree_test", "tests/unit/agg_tree_test", [], (SWITCH,)),
    ("agg_up_test", "tests/unit/agg_up_test", [], (SWITCH,)),
    ("tree_test", "tests/unit/tree_test", [], (SWITCH,)),
    ("session_test", "tests/unit/session_test", [], (HOST,)),
    ("coll_test", "tests/unit/coll_test", [], (HOST,)),
    ("lane_test", "tests/unit/lane_test", [], (HOST,)),
    ("engine_test", "tests/unit/engine_test", [], ("host/engine.c",)),
    ("explorer of lanes", "tests/explore/explore_lanes", [], ("switch/core/slot.c",)),
]


class Mutant:
    def __init__(self, title, path, old, new):
        self.title, self.path, self.old, self.new = title, path, old, new


def read_mutants(path):
    """A title in brackets, the file, then old lines behind '-' and new ones behind '+'."""
    mutants, title, name, old, new = [], None, None, [], []

    def add():
        if title:
            mutants.append(Mutant(title, name, "\n".join(old), "\n".join(new)))

    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("["):
                add()
                title, name, old, new = line[1:-1], None, [], []
            elif line.startswith("-"):
                old.append(line[1:])
            elif line.startswith("+"):
                new.append(line[1:])
            elif line and not line.startswith("#"):
                name = line
    add()
    return mutants


class Workshop:
    """A copy of the tree, built once, in which one file at a time is broken."""

    def __init__(self, folder):
        self.tree = os.path.join(folder, "tree")
        self.build = os.path.join(folder, "build")
        os.mkdir(self.tree)
        for part in COPIED:
            source, to = os.path.join(TREE, part), os.path.join(self.tree, part)
            if os.path.isdir(source):
                shutil.copytree(source, to, symlinks=True)
            else:
                shutil.copy2(source, to)
        self.checks = [c for c in CHECKS if os.path.exists(os.path.join(self.tree, c[1] + ".c"))]

    def make(self, checks):
        """What went wrong, or nothing."""
        targets = [os.path.join(self.build, check[1]) for check in checks]
        jobs = "-j%s" % os.environ.get("JOBS", "1")
        env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MODE", "B")}
        made = subprocess.run(["make", "-s", jobs, "MODE=debug", "WERROR=", "B=" + self.build]
                              + targets, cwd=self.tree, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=env, check=False)
        return made.stdout if made.returncode else ""

    def fails(self, check):
        """Whether the check finds fault with what is built; a crash or a hang is one, too."""
        program = os.path.join(self.build, check[1])
        command, env = [program] + check[2], dict(os.environ)
        if check[1].endswith("driver"):
            command = [sys.executable, "tests/second/second.py"] + check[2]
            env["SECOND_DRIVER"] = program
        try:
            ran = subprocess.run(command, cwd=self.tree, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, timeout=LIMIT_S, env=env,
                                 check=False)
        except subprocess.TimeoutExpired:
            return True
        return ran.returncode != 0

    def checks_of(self, path):
        return [c for c in self.checks if path.startswith(c[3])]

    def catch(self, mutant, go_on):
        """Names of the checks that fail; None: the mutant does not apply or does not compile."""
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
                if self.fails(check):
                    caught.append(check[0])
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


def run(folder, mutants, go_on):
    shop = Workshop(folder)
    complaint = shop.make(shop.checks)
    if complaint:
        print(complaint)
        print("not ok: the tree itself does not build")
        return 1
    for check in shop.checks:
        if shop.fails(check):
            print("not ok: %s fails without any mutant" % check[0])
            return 1
    caught = 0
    for mutant in mutants:
        names = shop.catch(mutant, go_on)
        caught += bool(names)
        verdict = ", ".join(names) if names else "NOT CAUGHT" if names == [] else "NOT TRIED"
        print("%s %s: %s" % ("ok    " if names else "not ok", mutant.title, verdict), flush=True)
    print("%d of %d mutants caught" % (caught, len(mutants)))
    return 0 if caught == len(mutants) else 1


def main():
    words = [word for word in sys.argv[1:] if word != "--all"]
    mutants = [m for m in read_mutants(os.path.join(HERE, "rules.txt"))
               if not words or words[0] in m.title]
    with tempfile.TemporaryDirectory(prefix="tally-mutants.") as folder:
        return run(folder, mutants, "--all" in sys.argv)


sys.exit(main())
