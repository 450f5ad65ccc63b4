#!/usr/bin/env python3
"""Unpacks oneDNN's two wheels: unpack_onednn.py FOLDER_OF_WHEELS DESTINATION

The runtime wheel holds its library three times (54 MB each, where links were meant); one copy is kept.
"""
import pathlib
import shutil
import sys
import zipfile

LIBRARY = "libdnnl.so.3.2"
LINKS = {"libdnnl.so.3": LIBRARY, "libdnnl.so": "libdnnl.so.3"}


def wanted(path):
    """Where a file of the wheel's data folder goes, or None."""
    if path.parts[0] == "share":  # licence and third-party notices
        return pathlib.Path("share", path.name)
    if path.parts[0] == "include" or path.parts[:2] == ("lib", "cmake"):
        return path
    return path if path == pathlib.Path("lib", LIBRARY) else None


def main(wheels, destination):
    for wheel in sorted(wheels.glob("onednn*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                parts = pathlib.PurePosixPath(name).parts
                if len(parts) < 4 or not parts[0].endswith(".data") or parts[1] != "data" or ".." in parts:
                    continue
                path = wanted(pathlib.Path(*parts[2:]))
                if path is None:
                    continue
                target = destination / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(name) as source, target.open("wb") as out:
                    shutil.copyfileobj(source, out)
    for needed in (f"lib/{LIBRARY}", "include/dnnl.hpp", "lib/cmake/dnnl/dnnl-config.cmake"):
        if not (destination / needed).is_file():
            sys.exit(f"unpack_onednn.py: {needed} is in none of the wheels in {wheels}")
    for link, target in LINKS.items():
        (destination / "lib" / link).symlink_to(target)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
