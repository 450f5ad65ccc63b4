#!/usr/bin/env python3
"""Writes the tables of facts that caption cleaning needs, as perfuse/tokenizers/*.inc.

The named characters and the character sets come from Python's standard library, the classes of characters that
mojibake consists of from ftfy (`pip install ftfy==6.3.1`). Run it again when one of them changes.
"""

import html.entities
import pathlib
import sys

import ftfy.badness
import ftfy.chardata

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "perfuse" / "tokenizers"
SETS = ["windows-1252", "windows-1251", "windows-1250", "windows-1253", "windows-1254", "windows-1257",
        "iso-8859-2", "macroman", "cp437"]
WIDTH = 110


def write(name, source, items, indent="    "):
    lines, line = [], indent.rstrip(" ")
    for item in items:
        if item.startswith("//") or len(line) + len(item) + 2 > WIDTH:
            lines.append(line)
            line = ""
        line += (" " if line.strip() else "") + item
        if item.startswith("//"):
            lines.append(line)
            line = ""
    lines.append(line)
    head = f"// Made by tools/caption_tables.py from {source}; don't edit.\n// clang-format off\n"
    body = "\n".join(line.rstrip() for line in lines if line.strip())
    (FOLDER / name).write_text(head + body + "\n// clang-format on\n")


def entities():
    table = html.entities.html5
    for name in sorted(n[:-1] for n in table if n.endswith(";")):
        first, second = (list(map(ord, table[name + ";"])) + [0])[:2]
        bare = name in table
        assert not bare or table[name] == table[name + ";"]
        yield f'{{"{name}",{first:#x},{second:#x},{int(bare)}}},'


def character_sets():
    for encoding in SETS:
        yield f"// {encoding}, from 0x80"
        for byte in range(0x80, 0x100):
            char = bytes([byte]).decode(encoding, "replace")
            yield f"{byte if char == chr(0xfffd) else ord(char):#x},"


def members(pattern):
    found, at = set(), 0
    while at < len(pattern):
        last = at + 2 if pattern[at + 1:at + 2] == "-" else at
        found |= set(range(ord(pattern[at]), ord(pattern[last]) + 1))
        at = last + 1
    return sorted(found)


def classes():
    for name, pattern in {**ftfy.badness.MOJIBAKE_CATEGORIES, **ftfy.chardata.UTF8_CLUES}.items():
        yield f"// {name}"
        first = last = None
        for char in members(pattern) + [None]:
            if last is not None and char == last + 1:
                last = char
                continue
            if last is not None:
                yield f"{{{'k' + name.title().replace('_', '')},{first:#x},{last:#x}}},"
            first = last = char


if __name__ == "__main__":
    version = "Python's {}, version " + ".".join(map(str, sys.version_info[:2]))
    write("html_entities.inc", version.format("html.entities.html5"), entities())
    write("single_byte_sets.inc", version.format("codecs"), character_sets())
    write("mojibake_classes.inc", f"the character classes of ftfy {ftfy.__version__}", classes())
