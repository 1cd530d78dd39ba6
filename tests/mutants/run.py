#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Breaks the product one rule at a time and shows which check finds out.

usage: run.py [--all | --matrix | --sample] [WORD]
       run.py --list

The mutants are in rules.txt beside this program; with WORD only those whose title has it. The tree
is copied to a temporary folder for each CPU, and what a mutant touches is built there and checked
until one check fails: the quickest explorers first, then the simulator, then the rest. A mutant has
to be found by an explorer or the simulator, save those that rules.txt marks as other, with the
reason. A check that a mutant keeps from ending counts only where nothing else finds it.

--matrix  all explorers and the simulator, whatever has failed before: a column for each; for the
          simulator the first seed
--all     all checks, and names every one that fails
--sample  of each rule the first mutant that an explorer or the simulator has to find
--list    builds nothing: every rule of docs/protocol.md has such a mutant, and the text of each
          mutant is in its file, once
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
COPIED = ("Makefile", "proto", "kernels", "switch", "host", "topologies", "tests", "docs")
BUILD = "build/mutants"  # in the copy: a copy of that needs no building
SEEDS = "3000"

# A check: kind, name, program, arguments, and the files that it is tried on mutants of.
SWITCH, HOST, PROTO, KERNELS = "switch/", "host/", "proto/", "kernels/"
SLOTS = ("switch/core/slot.c",)
TREES = ("switch/core/agg_up.c", "switch/core/agg_join.c", "switch/core/slot.c",
         "switch/core/agg_data.c", "switch/core/agg.h", "proto/wire.c")
MEMORY = ("host/engine.c", "host/quantizer.c", "host/core/coll.c", "host/core/lane.c", KERNELS)
FORMING = ("switch/core/agg", "switch/core/job", "host/core/session.c")
EXPLORER, SIMULATOR, OTHER = "explorer", "simulator", "other"
CHECKS = [
    (EXPLORER, "slots", "tests/explore/explore_slot", [], SLOTS),
    (EXPLORER, "trees", "tests/explore/explore_tree", [], TREES),
    (EXPLORER, "memory", "tests/explore/explore_memory", [], MEMORY),
    (EXPLORER, "joins", "tests/explore/explore_join", ["3000"], FORMING),
    (SIMULATOR, "simulator", "tests/sim/sim", ["--brief", "--seeds", SEEDS],
     (SWITCH, HOST + "core/", PROTO)),
    (EXPLORER, "tree joins", "tests/explore/explore_tree_join", ["30000"], FORMING),
    (EXPLORER, "lanes", "tests/explore/explore_lanes", [], SLOTS),
    (OTHER, "second implementation", "tests/second/driver", ["12000"], (SWITCH, PROTO)),
] + [(OTHER, name, "tests/unit/" + name, [], paths) for name, paths in (
    ("wire_test", (PROTO,)), ("wire_body_test", (PROTO,)), ("machines_test", (SWITCH, HOST)),
    ("slot_test", SLOTS), ("agg_data_test", (SWITCH,)), ("agg_join_test", (SWITCH,)),
    ("agg_rival_test", (SWITCH,)), ("agg_want_test", (SWITCH,)), ("agg_seal_test", (SWITCH,)),
    ("agg_talk_test", (SWITCH,)), ("agg_test", (SWITCH,)), ("job_test", (SWITCH,)),
    ("pipe_test", (SWITCH,)), ("agg_tree_test", (SWITCH,)), ("agg_up_test", (SWITCH,)), ("agg_up_seal_test", (SWITCH,)),
    ("tree_test", (SWITCH,)), ("session_test", (HOST,)), ("session_path_test", (HOST,)), ("coll_test", (HOST,)),
    ("lane_test", (HOST,)), ("fwd_test", ("switch/core/fwd.c",)),
    ("parent_test", ("switch/core/pipe.c", "switch/parent.c")), ("engine_test", ("host/engine.c",)))] + [
    (OTHER, "numbers", "tests/numerics/check_equal", ["1"], (KERNELS,))]


class Mutant:
    def __init__(self, title, path, old, new, other):
        self.title, self.path, self.old, self.new, self.other = title, path, old, new, other

    def rules(self):
        """The rules of docs/protocol.md that the title names: "rule 3", "R3", "step 3"."""
        named = re.match(r"Section (\d+), (?:CHECK, )?(?:(rule|step) (\d+)|(R\d+))\b", self.title)
        if not named:
            return set()
        if named.group(4):
            return {named.group(4)}
        if named.group(2) == "rule":
            return {"rule " + named.group(3)}
        return {"section %s, step %s" % (named.group(1), named.group(3))}

    def stale(self, tree):
        """Why it cannot be made of this tree, or nothing."""
        try:
            with open(os.path.join(tree, self.path), encoding="utf-8") as file:
                count = file.read().count(self.old) if self.old else 0
        except OSError as error:
            return "%s: %s" % (self.path, error.strerror)
        if count == 1 and self.old != self.new:
            return ""
        return "%s has its text %d times, not once:\n%s" % (
            self.path, count, re.sub("^", "    -", self.old, flags=re.M))


def read_mutants(path):
    """A title in brackets, the file, then old lines behind '-' and new ones behind '+'."""
    mutants, title, name, old, new, other = [], None, "", [], [], ""

    def add():
        if title:
            mutants.append(Mutant(title, name, "\n".join(old), "\n".join(new), other))

    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("["):
                add()
                title, name, old, new, other = line[1:-1], "", [], [], ""
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


def read_rules(path):
    """The rules of docs/protocol.md in their order, and the steps of a contribution without one."""
    rules, section, step = [], "", ""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if re.match(r"#+ ", line):
                section = line.split()[1].rstrip(".") if line.startswith("## ") else ""
                step = ""
            number = re.match(r"(\d+)\. ", line)
            if number and section == "3":
                step = "section 3, step " + number.group(1)
                rules.append(step)
            elif line.strip() == "":
                step = ""
            named = re.findall(r"\*\*\(Rule (\d+)\)\*\*|^Rule (\d+):|^- \*\*(R\d+)\*\*", line)
            for bold, plain, host in named:
                rules.append(host or "rule " + (bold or plain))
                if step in rules:
                    rules.remove(step)
    return rules


def read_seeds(path):
    """Of the simulator's runs that have shown something, those without a mutant of its own."""
    with open(path, encoding="utf-8") as file:
        return [line.split()[0] for line in file if re.match(r"\d+\s+-\s", line)]


class Workshop:
    """A copy of the tree, built once, in which one file at a time is broken."""

    def __init__(self, folder, kinds, like=None):
        self.tree = folder
        self.limits = like.limits if like else {}
        if like:
            shutil.copytree(like.tree, folder, symlinks=True)
        else:
            os.mkdir(folder)
            for part in COPIED:
                source, to = os.path.join(TREE, part), os.path.join(folder, part)
                if os.path.isdir(source):
                    shutil.copytree(source, to, symlinks=True)
                else:
                    shutil.copy2(source, to)
        self.past = read_seeds(os.path.join(folder, "tests", "sim", "seeds.txt"))
        self.checks = [c for c in CHECKS if c[0] in kinds
                       and os.path.exists(os.path.join(folder, c[2] + ".c"))]

    def make(self, checks, jobs=1):
        """What went wrong, or nothing. Fast enough to run, and fast enough to build and to link."""
        targets = [os.path.join(BUILD, check[2]) for check in checks]
        env = {k: v for k, v in os.environ.items()
               if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MODE", "B", "SEEDS")}
        made = subprocess.run(["make", "-s", "-j%d" % jobs, "MODE=debug", "OPT_debug=-O1",
                               "WERROR=", "DPDK_TEST=", "B=" + BUILD] + targets, cwd=self.tree, env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        return made.stdout if made.returncode else ""

    def fails(self, check, limit_s):
        """How the check finds fault with what is built, or nothing; a crash is one, too."""
        program = os.path.join(self.tree, BUILD, check[2])
        commands, env = [[program] + check[3]], dict(os.environ)
        if check[0] == SIMULATOR:
            commands += [[program, "--brief", "--seed", seed] for seed in self.past]
        if check[2].endswith("driver"):
            commands = [[sys.executable, "tests/second/second.py"] + check[3]]
            env["SECOND_DRIVER"] = program
        for command in commands:
            how = self.finds(check, command, env, limit_s)
            if how:
                return how
        return ""

    def finds(self, check, command, env, limit_s):
        """The same, for one run of it."""
        try:
            ran = subprocess.run(command, cwd=self.tree, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, timeout=limit_s, env=env,
                                 errors="replace", check=False)
        except subprocess.TimeoutExpired:
            return "time limit of %d s" % limit_s
        if ran.returncode == 0:
            return ""
        seed = re.search(r"seed (\d+)", ran.stdout)
        return "seed " + seed.group(1) if seed and check[0] == SIMULATOR else "found"

    def measure(self, check):
        """Whether the check passes; from now on it has ten times as long, and ten seconds."""
        begin = time.monotonic()
        how = self.fails(check, 600)
        self.limits[check[2]] = int(10 * (time.monotonic() - begin)) + 10
        return not how

    def catch(self, mutant, go_on):
        """The checks that fail, each with how; a text: the mutant does not apply or compile."""
        stale = mutant.stale(self.tree)
        if stale:
            return stale
        path = os.path.join(self.tree, mutant.path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        caught = []
        try:
            self.write(path, text.replace(mutant.old, mutant.new))
            for check in self.checks:
                if not mutant.path.startswith(check[4]):
                    continue
                complaint = self.make([check])
                if complaint:
                    return "it does not compile:\n" + complaint.rstrip()
                how = self.fails(check, self.limits[check[2]])
                if how:
                    caught.append((check, how))
                    if not go_on and not is_limit(how):
                        break
        finally:
            self.write(path, text)
        return caught

    def write(self, path, text):
        """Its object goes, so that make need not tell two times of the same tick apart."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        stem = os.path.splitext(os.path.relpath(path, self.tree))[0]
        if os.path.exists(os.path.join(self.tree, BUILD, stem + ".o")):
            os.remove(os.path.join(self.tree, BUILD, stem + ".o"))


def is_limit(how):
    return how.startswith("time limit")


def told(check, how):
    words = {EXPLORER: "explorer of " + check[1], SIMULATOR: "simulator"}.get(check[0], check[1])
    return words if how == "found" else words + ", " + how


class Score:
    """What was found by whom."""

    def __init__(self, mode, nr):
        self.mode, self.by, self.right, self.limits, self.all = mode, {}, 0, 0, nr

    def judge(self, mutant, caught):
        """What is said of a mutant, and whether that is as it should be."""
        if isinstance(caught, str):
            return "NOT TRIED: " + re.sub("\n", "\n       ", caught), False
        real = [one for one in caught if not is_limit(one[1])]
        for check, _ in real:
            self.by[check[1]] = self.by.get(check[1], 0) + 1
        if not caught and mutant.other and self.mode == "--matrix":
            return "other: " + mutant.other, True
        if not caught:
            return "NOT FOUND", False
        if not real:
            self.limits += 1
        names = ", ".join(told(*one) for one in (real or caught))
        if any(check[0] != OTHER for check, _ in caught):
            return names, True
        if mutant.other:
            return "%s (other: %s)" % (names, mutant.other), True
        return "only " + names + ", NEITHER EXPLORER NOR SIMULATOR", False

    def add(self, mutant, caught):
        verdict, fine = self.judge(mutant, caught)
        self.right += fine
        print("%s %s: %s" % ("ok    " if fine else "not ok", mutant.title, verdict), flush=True)

    def summary(self, seconds):
        order = [c[1] for c in CHECKS if c[1] in self.by]
        print("%s: %s; no more than a time limit: %d" % (
            "found by" if self.mode in ("--all", "--matrix") else "first found by",
            ", ".join("%s %d" % (name, self.by[name]) for name in order) or "nobody", self.limits))
        print("mutation score %d of %d, %.1f %%, in %d s" % (
            self.right, self.all, 100.0 * self.right / self.all if self.all else 0, seconds))
        return 0 if self.all and self.right == self.all else 1


def try_all(shops, mutants, mode):
    """A thread for each workshop; results are told in the order of the list."""
    score, results, lock, begin = Score(mode, len(mutants)), {}, threading.Lock(), time.monotonic()
    waiting, told_nr = list(enumerate(mutants)), [0]

    def work(shop):
        while True:
            with lock:
                if not waiting:
                    return
                i, mutant = waiting.pop(0)
            caught = shop.catch(mutant, mode in ("--all", "--matrix"))
            with lock:
                results[i] = caught
                while told_nr[0] in results:
                    score.add(mutants[told_nr[0]], results[told_nr[0]])
                    told_nr[0] += 1

    threads = [threading.Thread(target=work, args=(shop,)) for shop in shops]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return score.summary(time.monotonic() - begin)


def run(folder, mutants, mode):
    jobs = int(os.environ.get("JOBS", 0)) or os.cpu_count() or 1
    kinds = (EXPLORER, SIMULATOR) + (() if mode in ("--matrix", "--sample") else (OTHER,))
    shop = Workshop(os.path.join(folder, "0"), kinds)
    wanted = [c for c in shop.checks if any(m.path.startswith(c[4]) for m in mutants)]
    complaint = shop.make(wanted, jobs)
    if complaint:
        print(complaint)
        print("not ok the tree itself: it does not build")
        return 1
    shop.checks = wanted
    for check in wanted:
        if not shop.measure(check):
            print("not ok the tree itself: %s fails without any mutant" % check[1])
            return 1
    shops = [shop] + [Workshop(os.path.join(folder, str(i)), kinds, shop)
                      for i in range(1, min(jobs, len(mutants)))]
    for other in shops[1:]:
        other.checks = wanted
    return try_all(shops, mutants, mode)


def required(mutants):
    return [m for m in mutants if not m.other]


def sample(mutants, rules):
    """The first of each rule."""
    firsts = {}
    for mutant in required(mutants):
        for rule in mutant.rules():
            firsts.setdefault(rule, mutant)
    return [firsts[rule] for rule in rules if rule in firsts]


def check_list(mutants, rules):
    """Whether the list is what it has to be."""
    bad, titles = [], set()
    for mutant in mutants:
        stale = mutant.stale(TREE)
        if stale:
            bad.append("[%s]: %s" % (mutant.title, stale))
        if mutant.title in titles:
            bad.append("[%s] is there twice" % mutant.title)
        titles.add(mutant.title)
        for rule in mutant.rules() - set(rules):
            # A step that is a rule may go by either name.
            if not rule.startswith("section "):
                bad.append("[%s]: docs/protocol.md has no %s" % (mutant.title, rule))
    have = set().union(*(m.rules() for m in required(mutants)))
    bad += ["docs/protocol.md, %s: rules.txt has no mutant that an explorer or the simulator has "
            "to find" % rule for rule in rules if rule not in have]
    for line in bad:
        print("tests/mutants/rules.txt: " + line)
    if not rules:
        bad.append("no rules")
    print("%d mutants, %d of them for explorers and simulator; %d rules%s" % (
        len(mutants), len(required(mutants)), len(rules), ", %d faults" % len(bad) if bad else ""))
    return 1 if bad else 0


def main():
    modes = [word for word in sys.argv[1:] if word in ("--all", "--matrix", "--sample", "--list")]
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if len(modes) + len(words) != len(sys.argv) - 1 or len(modes) > 1 or len(words) > 1:
        print(__doc__)
        return 2
    mode = modes[0] if modes else ""
    mutants = read_mutants(os.path.join(HERE, "rules.txt"))
    rules = read_rules(os.path.join(TREE, "docs", "protocol.md"))
    if mode == "--list":
        return check_list(mutants, rules)
    if mode == "--sample":
        mutants = sample(mutants, rules)
    mutants = [m for m in mutants if not words or words[0] in m.title]
    if not mutants:
        print("no mutant has %s in its title" % words[0])
        return 2
    with tempfile.TemporaryDirectory(prefix="tally-mutants.") as folder:
        return run(folder, mutants, mode)


if __name__ == "__main__":
    sys.exit(main())
