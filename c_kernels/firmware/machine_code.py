"""What functions take of the stack and which functions they call, read from the machine code of a program."""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

INDIRECT = "__indirect_call"  # what gcc calls the target of a call by a pointer

# What takes stack in machine code: all registers of a list, or a number of bytes.
LISTS = re.compile(r"^(?:push|stmdb|stmfd|vpush|vstmdb)(?:\.w)?\s+(?:sp!,\s*)?\{(.*)\}")
BYTES = re.compile(
    r"^(?:sub\w*(?:\.w)?\s+sp,\s*(?:sp,\s*)?#(\d+)"  # Arm
    r"|str\w*(?:\.w)?\s.*\[sp, #-(\d+)\]!"
    r"|(?:c\.)?addi?(?:16sp)?\s+sp,(?:sp,)?-(\d+)"  # RISC-V
    r"|stwu\s+r1,-(\d+)\(r1\))"  # PowerPC
)
UNKNOWN = re.compile(
    r"^(?:sub\w*(?:\.w)?\s+sp,\s*(?:sp,\s*)?[a-z]|add\w*(?:\.w)?\s+sp,\s*r|mov\s+sp|stwux\s+r1|out\s+0x3d)"
)
# AVR: a byte each; a call of the next instruction, which takes the two bytes of its return address.
PUSH, OWN_CALL, RETURN_BYTES = re.compile(r"^push\s+r\d"), re.compile(r"^rcall\s+\.\+0\b"), 2
CALLS = re.compile(r"^(?:blx?|jal|jalr|bctrl|call|rcall|icall)(?:\.w)?(?:\s|$)")
JUMPS = re.compile(r"^(?:b|cb|r?j)\w*(?:\.[nw])?\s")
RETURNS = re.compile(r"^(?:bx\s+lr|mov\s+pc, lr|(?:pop|ldmia)(?:\.w)?\s.*\bpc\}|reti?|blr|jr\s+ra)(?:\s|$)")
ENDS = re.compile(r"^(?:(?:b|bx|j|jr|bctr|r?jmp|ijmp|tb[bh])(?:\.[nw])?(?:\s|$)|(?:mov|add|ldr\S*)\s+pc)")
SKIPS = re.compile(r"^(?:sbr[cs]|sbi[cs]|cpse)\s")  # AVR: the next instruction may be left out
SAVES, RESTORES = "__prologue_saves__", "__epilogue_restores__"
PLACE = re.compile(r"\b(?:0x)?([0-9a-f]+) <")  # the name behind it may be that of a constant


class Function(NamedTuple):
    """The bytes that a function takes itself, the functions that it calls, and its line in the source (0: none)."""

    frame: int
    calls: frozenset[str]
    line: int = 0


def registers(text: str) -> int:
    """Return the bytes of a list of Arm's registers, as {r4-r7, lr} or {d8-d11}."""
    total = 0
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        size = 8 if first.startswith("d") else 4
        total += size * (int(last[1:]) - int(first[1:]) + 1 if last else 1)
    return total


def bytes_taken(instruction: str) -> int:
    """Return the bytes that an instruction takes from the stack."""
    if PUSH.match(instruction) or OWN_CALL.match(instruction):
        return 1 if PUSH.match(instruction) else RETURN_BYTES
    if found := LISTS.match(instruction):
        return registers(found[1])
    if found := BYTES.match(instruction):
        return int(next(filter(None, found.groups())))
    if UNKNOWN.match(instruction):
        msg = f"the stack of {instruction!r} is not known"
        raise ValueError(msg)
    return 0


class Listing:
    """What `objdump -d --no-show-raw-insn` prints of a program: instructions by address, and symbols."""

    def __init__(self, text: str) -> None:
        """Read the listing."""
        self.code: dict[int, str] = {}
        self.symbols: dict[int, str] = {}
        for line in text.splitlines():
            if found := re.match(r"^([0-9a-f]+) <([^>]+)>:$", line):
                self.symbols[int(found[1], 16)] = found[2]
            elif found := re.match(r"^\s*([0-9a-f]+):\s+(\S.*)$", line):
                self.code[int(found[1], 16)] = found[2]
        self.order, self.starts = list(self.code), list(self.symbols)
        self.return_bytes = RETURN_BYTES if "elf32-avr" in text else 0  # which a call pushes

        helpers = [start for start, name in self.symbols.items() if name in {SAVES, RESTORES}]
        self.helping = {place for start in helpers for place in self.symbol_of(start)}

    def name(self, place: int) -> str:
        """Return the symbol at an address; the address itself for a part of a function that is called."""
        return self.symbols.get(place, f"{place:#x}")

    def symbol_of(self, place: int) -> list[int]:
        """Return the addresses of all instructions of a symbol that contains an address."""
        i = bisect.bisect(self.starts, place)
        end = self.starts[i] if i < len(self.starts) else self.order[-1] + 1
        return self.order[bisect.bisect_left(self.order, self.starts[i - 1]) : bisect.bisect_left(self.order, end)]

    def reached_from(self, entry: int, apart: set[int]) -> set[int]:
        """Return the addresses that a function comes to without calls, and without the functions `apart`.

        After a jump to an address that was computed, that is all of its symbol.
        """
        reached: set[int] = set()
        waiting = [entry]
        while waiting:
            place = waiting.pop()
            if place in reached or place not in self.code:
                continue
            reached.add(place)
            instruction, i = self.code[place], bisect.bisect(self.order, place)
            found = PLACE.search(instruction)
            is_back = instruction.startswith("ijmp") and place in self.helping
            if RETURNS.match(instruction) or is_back:
                continue
            if not CALLS.match(instruction) and JUMPS.match(instruction) and found:
                waiting += {int(found[1], 16)} - apart
            if ENDS.match(instruction) and found and SAVES not in instruction:
                continue
            if (ENDS.match(instruction) and not found) or instruction.startswith("."):
                waiting += self.symbol_of(place)
            else:
                waiting += self.order[i : i + (2 if SKIPS.match(instruction) else 1)]
        return reached

    def bytes_at(self, reached: Iterable[int]) -> int:
        """Return the bytes that the instructions at some addresses take.

        On AVR functions of libgcc jump to one that pushes for them, and takes as many bytes more as are in r26.
        """
        codes = {place: self.code[place] for place in reached}
        more = [int(found[1], 16) for code in codes.values() if (found := re.match(r"ldi\s+r26, 0x(\w+)", code))]
        is_helped = any(f"<{SAVES}" in code for code in codes.values())
        own = [code for place, code in codes.items() if place not in self.helping or not UNKNOWN.match(code)]
        return sum(map(bytes_taken, own)) + (max(more, default=0) if is_helped else 0) + self.return_bytes

    def called_from(self, reached: Iterable[int], apart: set[int]) -> set[int | None]:
        """Return what instructions call (None: an address in a register), and the functions `apart` they jump to."""
        codes = [self.code[place] for place in reached]
        calls = [PLACE.search(code) for code in codes if CALLS.match(code) and not OWN_CALL.match(code)]
        jumps = [found for code in codes if JUMPS.match(code) and (found := PLACE.search(code))]
        called = {int(place[1], 16) if place else None for place in calls}
        return called | ({int(place[1], 16) for place in jumps} & apart)


def machine_code(
    listing: Listing, names: str, wanted: Iterable[str], frames: dict[str, int] | None = None
) -> dict[str, Function]:
    """Return the functions of a listing that `wanted` ones lead to, given the output of `nm` and frames that are known.

    A function takes all that it pushes anywhere, which is at least what it takes on any path. A jump to a function with
    a known frame counts as a call.
    """

    def known(name: str) -> int | None:
        return frames.get(name, frames.get(re.sub(r"\.\d+$", "", name))) if frames else None

    places = {name: int(place, 16) for place, name in re.findall(r"^([0-9a-f]+) [tTwW] (\S+)$", names, re.MULTILINE)}
    if missing := sorted(set(wanted) - set(places)):
        msg = f"{missing[0]} is not in the program"
        raise ValueError(msg)
    with_frames = {place for place, name in listing.symbols.items() if known(name)}
    functions: dict[str, Function] = {}
    waiting = {name: places[name] for name in wanted}
    while waiting:
        name, entry = waiting.popitem()
        entry = entry & ~1 if entry & ~1 in listing.code else entry
        apart = with_frames - {entry}
        reached = listing.reached_from(entry, apart)
        frame = known(name) or listing.bytes_at(reached)
        called = listing.called_from(reached, apart)
        calls = {listing.name(place): place for place in called if place is not None}
        functions[name] = Function(frame, frozenset(calls) | ({INDIRECT} if None in called else set()))
        waiting |= {name: place for name, place in calls.items() if name not in functions}
    return functions


def with_pushes(functions: dict[str, Function], listing: Listing) -> dict[str, Function]:
    """Return the functions of a graph, with frames that are at least what their machine code takes.

    Where it takes a number of bytes that is in a register (a large frame in Thumb-1), gcc's number stands.
    """
    pushed = {
        name: sum(
            bytes_taken(listing.code[i])
            for i in listing.symbol_of(place)
            if BYTES.match(listing.code[i]) or not UNKNOWN.match(listing.code[i])
        )
        for place, name in listing.symbols.items()
    }
    return {
        name: found._replace(frame=max(found.frame, pushed.get(name.rpartition(":")[2], 0)))
        for name, found in functions.items()
    }
