#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds PTX against the scalar table, bit for bit; breaks it one instruction at a time and looks whether that is seen.

usage: ptx_check.py LIBRARY FILE.ptx ELEMENTS [MUTANTS]
  LIBRARY   tests/cuda/piece.so: draws launches, knows the results
  ELEMENTS  to compare for each kernel
  MUTANTS   how many to try; nine of ten have to be caught, and the others explained
"""

import ctypes
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ptx  # noqa: E402
import ptx_mutants  # noqa: E402


class View(ctypes.Structure):
    class Buffer(ctypes.Structure):
        _fields_ = [("at", ctypes.c_uint64), ("size", ctypes.c_uint64), ("writable", ctypes.c_uint64)]

    _fields_ = [("grid", ctypes.c_uint64), ("threads", ctypes.c_uint64), ("compared", ctypes.c_uint64),
                ("buffer", Buffer * 4)]


class Pieces:
    """tests/cuda/piece.h"""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.piece_bytes.restype = ctypes.c_size_t
        self.lib.piece_make.restype = ctypes.c_bool
        self.lib.piece_make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64]
        self.lib.piece_seed.argtypes = [ctypes.c_uint64]
        for name in ("piece_judge", "piece_text"):
            getattr(self.lib, name).restype = ctypes.c_char_p
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]
        self.piece = ctypes.create_string_buffer(self.lib.piece_bytes() + 64)
        self.at = (ctypes.addressof(self.piece) + 63) // 64 * 64

    def launch(self, kernel, thread, turn):
        """The turn-th piece through the kernel. Elements compared, and what is wrong or nothing."""
        self.lib.piece_seed(turn + 1)
        if not self.lib.piece_make(self.at, kernel.name.encode(), turn):
            return 0, "there is no reference for it"
        view, pointers = View(), (ctypes.c_void_p * 9)()
        self.lib.piece_look(ctypes.c_void_p(self.at), ctypes.byref(view))
        nr = self.lib.piece_params(ctypes.c_void_p(self.at), pointers)
        if nr != len(kernel.params):
            return 0, "it has %d parameters, not %d" % (len(kernel.params), nr)
        params = [ctypes.string_at(pointers[i], kernel.params[i][1]) for i in range(nr)]
        memory = ptx.Memory([(b.at, b.size, b.writable) for b in view.buffer])
        try:
            ptx.launch(kernel, thread, params, memory, view.grid, view.threads, turn)
        except ptx.Fault as fault:
            return view.compared, str(fault)
        wrong = self.lib.piece_judge(self.at)
        return view.compared, wrong.decode() if wrong else ""

    def compare(self, kernel, thread, wanted, turn=0):
        """Pieces until that many elements are compared. Their number, the turn, what is wrong."""
        compared = 0
        while compared < wanted:
            more, wrong = self.launch(kernel, thread, turn)
            compared += more
            if wrong:
                return compared, turn, wrong
            turn += 1
        return compared, turn, ""

    def text(self):
        return self.lib.piece_text(self.at).decode()


def check(pieces, kernels, wanted, label):
    """One line for each kernel. How many are wrong."""
    bad, total = 0, 0
    for name in sorted(kernels):
        kernel = kernels[name]
        try:
            compared, turn, wrong = pieces.compare(kernel, ptx.translate(kernel), wanted)
        except ptx.Fault as fault:
            compared, turn, wrong = 0, 0, str(fault)
        total += compared
        if wrong:
            print("not ok %s %s: turn %d, %s, %s" % (label, name, turn, pieces.text(), wrong))
            bad += 1
        else:
            print("ok %s %s: PTX = scalar: %d comparisons" % (label, name, compared), flush=True)
    return bad, total


def main():
    if len(sys.argv) not in (4, 5):
        print(__doc__)
        return 2
    pieces, label = Pieces(sys.argv[1]), os.path.basename(sys.argv[2]).split(".")[0]
    with open(sys.argv[2], encoding="utf-8") as file:
        kernels = ptx.parse(file.read())
    differ, total = check(pieces, kernels, int(sys.argv[3]), label)
    mutants = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    bad = differ
    if mutants and not differ:
        bad += ptx_mutants.check(pieces, kernels, mutants, label, random.Random(label))
    print("pair PTX of %s = scalar: %d comparisons, %d kernels, %d of them differ" % (
        label, total, len(kernels), differ))
    return 1 if bad or not total else 0


if __name__ == "__main__":
    sys.exit(main())
