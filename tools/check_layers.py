#!/usr/bin/env python3
"""Checks that every #include points downwards; prints each wrong one and exits 1.

The layers and their arrows are those of perfuse/CMakeLists.txt: perfuse_layer(NAME FOLDER DEPENDS …).
Three rules:
  1. A file of a layer includes only its own layer and those below it.
  2. Public headers (perfuse/perfuse.h and what it includes, which are those installed) need nothing that a
     user of the library would have to install besides fmt and nlohmann-json, and no backend.
  3. An #include "perfuse/…" names a file that exists; no "../".

usage: check_layers.py [REPOSITORY]
"""
import pathlib
import re
import sys

LAYER = re.compile(r"^perfuse_layer\(([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
PUBLIC_EXTERNAL = ("fmt/", "nlohmann/")


def read_layers(root):
    """folder -> set of folders that it may include (itself among them)."""
    folder_of, below = {}, {}
    for call in LAYER.findall((root / "perfuse/CMakeLists.txt").read_text()):
        words = call.split()
        name, folder, rest = words[0], words[1], words[2:]
        end = rest.index("LIBRARIES") if "LIBRARIES" in rest else len(rest)
        depends = [word for word in rest[:end] if word != "DEPENDS"]
        unknown = [layer for layer in depends if layer not in folder_of]
        if unknown:
            sys.exit(f"perfuse/CMakeLists.txt: layer {name} depends on {unknown[0]}, which is not above it in the list")
        folder_of[name] = folder
        below[folder] = {folder}.union(*(below[folder_of[layer]] for layer in depends))
    if not below:
        sys.exit("perfuse/CMakeLists.txt: no perfuse_layer(…) found")
    return below


def layer_of(path, layers):
    """The layer folder that a path below perfuse/ is in; None for perfuse/'s own files."""
    return next((folder for folder in layers if path.startswith(folder + "/")), None)


def public_headers(root):
    """perfuse/perfuse.h and all that it includes, as paths from the root."""
    public, to_read = set(), ["perfuse/perfuse.h"]
    while to_read:
        name = to_read.pop()
        if name not in public and (root / name).is_file():
            public.add(name)
            to_read += [target for _, target in INCLUDE.findall((root / name).read_text())]
    return {name for name in public if name.startswith("perfuse/")}


def check_file(path, text, root, layers, public_names):
    relative = path.relative_to(root).as_posix()
    own = layer_of(relative.removeprefix("perfuse/"), layers)
    public = relative in public_names
    for match in INCLUDE.finditer(text):
        quote, target = match.groups()
        where = f"{relative}:{text.count(chr(10), 0, match.start(2)) + 1}"
        if ".." in target.split("/"):
            yield f'{where}: "{target}": name the file from the repository\'s root, as "perfuse/…"'
        elif target.startswith("perfuse/"):
            # "x.pb.h" is generated from x.proto.
            if not (root / re.sub(r"\.pb\.h$", ".proto", target)).is_file():
                yield f'{where}: "{target}" does not exist'
            inside = layer_of(target.removeprefix("perfuse/"), layers)
            if own is not None and inside is None:
                yield f'{where}: layer {own} includes "{target}", which is above every layer'
            elif own is not None and inside not in layers[own]:
                allowed = ", ".join(sorted(layers[own] - {own})) or "nothing"
                yield f'{where}: layer {own} includes "{target}"; below {own} there is {allowed}'
            elif public and inside is not None and inside.startswith("backends/"):
                yield f'{where}: a public header includes "{target}": backends are nobody\'s but their own'
        elif public and "/" in target and not target.startswith(PUBLIC_EXTERNAL) and not target.startswith("sys/"):
            yield f"{where}: a public header includes <{target}>; users have only {' and '.join(PUBLIC_EXTERNAL)}"
        elif public and quote == "<" and target.endswith(".h") and "/" not in target:
            yield f"{where}: a public header includes <{target}>; use the C++ header, or include it in a .cpp"


def check(root):
    layers = read_layers(root)
    files = sorted(path for suffix in ("h", "cpp") for path in (root / "perfuse").rglob(f"*.{suffix}"))
    public = public_headers(root)
    wrong = [line for path in files for line in check_file(path, path.read_text(), root, layers, public)]
    return wrong, len(files), len(layers)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    wrong, files, layers = check(root)
    for line in wrong:
        print(line)
    print(f"check_layers: {files} files in {layers} layers, {len(wrong)} wrong includes")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
