"""What the tests of the command share: running it, and reading what it writes."""
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "models/emoji-pixart"
DATA = ROOT / "tests/data"
PROGRAM = os.environ["PERFUSE_COMMAND"]


class CommandTest(unittest.TestCase):
    """Each test runs in a scratch folder of its own."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="perfuse-cli-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def start(self, *arguments, **options):
        environment = dict(os.environ, **options.pop("environment", {}))
        environment.pop("PERFUSE_MODEL", None)
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.Popen([PROGRAM, *map(os.fspath, arguments)], cwd=options.pop("folder", self.folder),
                                stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, **options)

    def run_command(self, *arguments, text="", **options):
        process = self.start(*arguments, **options)
        out, err = process.communicate(text.encode(), timeout=300)
        return process.returncode, (out or b"").decode(), err.decode(errors="replace")

    def succeed(self, *arguments, **options):
        status, out, err = self.run_command(*arguments, **options)
        self.assertEqual(status, 0, err)
        return out

    def refused(self, status, expected, *arguments, **options):
        """One line on standard error, the status, nothing on standard output, no file left."""
        before = sorted(self.folder.rglob("*"))
        got, out, err = self.run_command(*arguments, **options)
        self.assertEqual(got, status, err)
        self.assertRegex(err, r"\Aperfuse: [^\n]*\n\Z")
        self.assertIn(expected, err)
        self.assertEqual(out, "")
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def bytes_of(self, name):
        return (self.folder / name).read_bytes()


def png_chunks(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    at = 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at:at + 4])
        yield data[at + 4:at + 8], data[at + 8:at + 8 + size]
        at += size + 12


def png_size(data):
    return struct.unpack(">II", next(png_chunks(data))[1][:8])


def png_text(data):
    texts = {}
    for kind, content in png_chunks(data):
        key, _, rest = content.partition(b"\0")
        if kind == b"tEXt":
            texts[key.decode("latin-1")] = rest.decode("latin-1")
        elif kind == b"zTXt":
            texts[key.decode("latin-1")] = zlib.decompress(rest[1:]).decode("latin-1")
        elif kind == b"iTXt":
            compressed, text = rest[0], rest[2:].split(b"\0", 2)[2]
            texts[key.decode("latin-1")] = (zlib.decompress(text) if compressed else text).decode()
    return texts


def safetensors_header(data):
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return header
