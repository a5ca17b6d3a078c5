#!/usr/bin/env python3
"""Counts the registers that the kernels of flex spill, in the machine code, for kernels/flex/spills.txt.

Usage: flex_spills.py FOLDER > kernels/flex/spills.txt
FOLDER has KEY.cubin files: tilescope_flex_registers SUITE.txt "" FOLDER writes them, for every suite that names flex. Needs cuobjdump
(on PATH, or CUOBJDUMP=...).
Prints for each kernel that spills the 32-bit words that a thread stores, by how often its code runs. A word is counted where it is stored:
the L1 writes it through, and its loads hit the L1. A block of instructions is known by what it has:
  block      outside the loop of the key tiles, on the way with the most words
  tile       in every turn of the loop
  columns    a branch without any of what follows: the next tile is partial, and what its mask needs of each key is computed
  sight      with the second product: the warp sees a key of the tile
  rescaling  multiplications alone: a maximum of the warp's rows moves
  partial    selections of -inf behind comparisons of a mask; `end`: the ones behind the last key
"""
import os
import pathlib
import re
import subprocess
import sys
from collections import Counter, defaultdict, namedtuple

Instruction = namedtuple("Instruction", "at predicate opcode operands")
COLUMNS = ("block", "tile", "columns", "partial", "sight", "rescaling", "end")


def instructions_of(cubin):
    tool = os.environ.get("CUOBJDUMP", "cuobjdump")
    listing = subprocess.run([tool, "-sass", cubin], check=True, capture_output=True, text=True).stdout
    found = []
    for at, text in re.findall(r"/\*([0-9a-f]{4,})\*/\s+([^;]*);", listing):
        match = re.match(r"(@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)(.*)", text.strip())
        found.append(Instruction(int(at, 16), (match[1] or "").strip(), match[2], match[3].strip()))
    return found


def successors_of(code):
    index = {instruction.at: i for i, instruction in enumerate(code)}
    successors = []
    for i, (_, predicate, opcode, operands) in enumerate(code):
        base, targets = opcode.split(".")[0], re.findall(r"0x([0-9a-f]+)", operands)
        target = index.get(int(targets[-1], 16)) if targets else None
        after = [i + 1]
        if base == "EXIT" and not predicate or base == "RET":
            after = []
        elif base == "BRA":
            may_pass = predicate or re.match(r"!?U?P\d", operands) or "DIV" in opcode
            after = [i + 1, target] if may_pass else [target]
        successors.append([s for s in after if s is not None and s < len(code)])
    return successors


class Flow:
    """The basic blocks of the kernel's own code, by their first instruction, and who dominates whom."""

    def __init__(self, code):
        after = successors_of(code)
        reached, stack = {0}, [0]
        while stack:
            for s in after[stack.pop()]:
                if s not in reached:
                    reached.add(s)
                    stack.append(s)
        before = defaultdict(list)
        for i in reached:
            for s in after[i]:
                before[s].append(i)
        heads = {i for i in reached if i == 0 or len(before[i]) != 1 or len(after[before[i][0]]) > 1}
        self.blocks = {}
        for head in sorted(heads):
            body = [head]
            while len(after[body[-1]]) == 1 and after[body[-1]][0] not in heads:
                body.append(after[body[-1]][0])
            self.blocks[head] = body
        self.after = {head: after[body[-1]] for head, body in self.blocks.items()}
        self.before = defaultdict(list)
        for head, heads_after in self.after.items():
            for s in heads_after:
                self.before[s].append(head)
        self._dominators()

    def _last_first(self):
        """Returns the blocks that a way from the first one reaches; what follows a block comes before it, but for edges back."""
        order, seen = [], {0}
        stack = [(0, iter(self.after[0]))]
        while stack:
            for s in stack[-1][1]:
                if s not in seen:
                    seen.add(s)
                    stack.append((s, iter(self.after[s])))
                    break
            else:
                order.append(stack.pop()[0])
        return order

    def _dominators(self):
        order = self._last_first()[::-1]
        number = {head: n for n, head in enumerate(order)}
        self.dominator, changed = {0: 0}, True
        while changed:
            changed = False
            for head in order[1:]:
                known = [b for b in self.before[head] if b in self.dominator]
                common = known[0]
                for other in known[1:]:
                    while common != other:
                        while number[common] > number[other]:
                            common = self.dominator[common]
                        while number[other] > number[common]:
                            other = self.dominator[other]
                if self.dominator.get(head) != common:
                    self.dominator[head], changed = common, True

    def dominates(self, a, b):
        while b != a and b != 0:
            b = self.dominator[b]
        return a == b

    def loop_with_most(self, weight):
        """Returns the blocks and the last blocks of the loop with the largest sum of weight(block)."""
        loops = defaultdict(lambda: (set(), []))
        for last in self.blocks:
            for head in self.after[last]:
                if not self.dominates(head, last):
                    continue
                body, stack = {head}, [last]
                while stack:
                    block = stack.pop()
                    if block not in body:
                        body.add(block)
                        stack += self.before[block]
                loops[head][0].update(body)
                loops[head][1].append(last)
        return max(loops.values(), key=lambda loop: (sum(map(weight, loop[0])), len(loop[0])))

    def most_on_a_way(self, weight, loop):
        """Returns the largest sum of weight(block) on a way through the kernel that enters `loop`, without the blocks of it."""
        to_end, through = {}, {}  # from a block on: all ways, and those that enter the loop
        for head in self._last_first():  # an edge back has no value yet
            own = 0 if head in loop else weight(head)
            known = [s for s in self.after[head] if s in to_end]
            to_end[head] = own + max((to_end[s] for s in known), default=0)
            entering = [through[s] for s in known if through[s] is not None]
            through[head] = to_end[head] if head in loop else own + max(entering) if entering else None
        return through[0]


def words_of(opcode):
    return 4 if ".128" in opcode else 2 if ".64" in opcode else 1


def spills_of(cubin):
    """Returns the stored words of a thread by column, or None where the kernel spills nothing."""
    code = instructions_of(cubin)
    if not any(i.opcode.startswith("STL") for i in code):
        return None
    flow = Flow(code)
    words = {head: sum(words_of(code[i].opcode) for i in body if code[i].opcode.startswith("STL")) for head, body in flow.blocks.items()}
    count = {head: Counter(code[i].opcode.split(".")[0] for i in body) for head, body in flow.blocks.items()}
    loop, lasts = flow.loop_with_most(lambda head: count[head]["HMMA"])
    masks = sorted(head for head in loop if count[head]["FSEL"] >= 64 and not count[head]["HMMA"])
    # A mask compares once an element or oftener; the end of the keys once a column.
    compares = {head: count[head]["ISETP"] + count[head]["FSETP"] + count[head]["LOP3"] for head in masks}
    result = Counter(block=flow.most_on_a_way(words.get, loop))
    for head in sorted(loop):
        if all(flow.dominates(head, last) for last in lasts):
            where = "tile"
        elif count[head]["HMMA"]:
            where = "sight"
        elif count[head]["FMUL"] > len(flow.blocks[head]) // 2:
            where = "rescaling"
        elif head in masks:
            where = "end" if compares[head] < count[head]["FSEL"] // 2 else "partial"
        else:
            where = "columns"
        result[where] += words[head]
    return result if sum(result.values()) else None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[2])
    print("# kernels/lab/flex_spills.py: the 32-bit words that a thread of a kernel of flex stores in local memory, sm_90a, NVRTC 13.0.")
    print("# key", *COLUMNS)
    for cubin in sorted(pathlib.Path(sys.argv[1]).glob("*.cubin")):
        if spills := spills_of(cubin):
            print(cubin.stem, *(spills[column] for column in COLUMNS))


main()
