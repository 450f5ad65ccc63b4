"""Where pictures go: standard output, FIFOs, folders, names that are chosen; and prompts that come from files."""
import json
import os
import pty
import signal
import subprocess
import threading
import unittest

from support import DATA, CommandTest, png_chunks, png_text

TINY = ("-m", DATA / "models/tiny-pixart-sigma", "--height", "32", "--width", "32", "--no-resolution-binning", "--steps", "1")


class Output(CommandTest):
    def draw(self, *arguments, **options):
        """Standard output and standard error as bytes."""
        text = options.pop("text", b"")
        process = self.start("generate", *TINY, *arguments, **options)
        out, err = process.communicate(text, timeout=300)
        self.assertEqual(process.returncode, 0, err)
        return out, err.decode()

    def test_standard_output_has_the_picture_and_nothing_else(self):
        for name in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            for more in ((), ("-v",), ("--explain",), ("--show",), ("--json",)):
                with self.subTest(name=name, more=more):
                    out, err = self.draw("x", "--seed", "1", "-o", name, *more)
                    kinds = [kind for kind, _ in png_chunks(out)]
                    self.assertEqual(kinds[-1], b"IEND")
                    self.assertTrue(out.endswith(b"IEND\xaeB`\x82"))
                    self.assertIn("standard output: 32×32", err)
        self.assertEqual(self.files(), [])
        self.draw("x", "--seed", "1", "-o", "a.png")
        self.assertEqual(self.bytes_of("a.png"), out)

    def test_results_go_to_standard_error_then(self):
        _, err = self.draw("x", "-o", "-", "--json", "-q")
        self.assertEqual(json.loads(err)["files"], ["-"])
        _, err = self.draw("x", "-o", "-", "--explain", "-q")
        self.assertIn("kernels:", err)
        _, err = self.draw("x", "-o", "-", "-q")
        self.assertEqual(err, "")

    def test_standard_output_takes_one_picture(self):
        self.refused(2, "takes one picture, there are 2", "generate", "x", "-o", "-", "--num-images", "2", *TINY)
        (self.folder / "r.jsonl").write_text('{"prompt": "x", "output": "-"}\n{"prompt": "y", "output": "/dev/stdout"}')
        self.refused(2, "takes one picture", "generate", "--request", "r.jsonl", *TINY)
        self.refused(2, "messages go there", "generate", "x", "-o", "/dev/stderr", *TINY)

    def test_a_request_may_name_standard_output_and_format(self):
        (self.folder / "r.json").write_text('{"prompt": "x", "output": "-", "format": "jpeg"}')
        out, _ = self.draw("--request", "r.json")
        self.assertEqual(out[:3], b"\xff\xd8\xff")
        self.draw("--request", "r.json", "-o", "a.png")  # the format was the other name's
        (self.folder / "r.json").write_text('{"prompt": "x", "format": "gif"}')
        self.refused(2, 'r.json: format: expected png or jpeg, found "gif"', "generate", "--request", "r.json", *TINY)

    def test_a_terminal_takes_no_picture(self):
        primary, secondary = pty.openpty()
        process = self.start("generate", "x", *TINY, "-o", "-", stdout=secondary)
        _, err = process.communicate(timeout=60)
        os.close(secondary)
        os.close(primary)
        self.assertEqual(process.returncode, 2)
        self.assertIn(b"standard output is a terminal", err)

    def test_streams_that_take_nothing(self):
        def failed(process, expected):
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1)
            self.assertRegex(err.decode(), r"\Aperfuse: standard output: [^\n]*\n\Z")
            self.assertIn(expected, err.decode())

        for arguments in (("-o", "-"), ("-o", "a.png", "--json")):
            with self.subTest(arguments):
                with open("/dev/full", "wb") as full:
                    failed(self.start("generate", "x", "-q", *TINY, *arguments, stdout=full), "the disk is full")
                process = self.start("generate", "x", "-q", *TINY, *arguments)
                process.stdout.close()
                process.stdout = None
                failed(process, "nobody reads")
                closed = f'exec "$@" >&-'
                command = ["bash", "-c", closed, "bash", os.environ["PERFUSE_COMMAND"], "generate", "x", "-q", *map(str, TINY), *arguments]
                failed(subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL), "closed")

    def test_a_fifo(self):
        for name, head in (("f", b"\x89PNG"), ("f.jpg", b"\xff\xd8\xff")):
            os.mkfifo(self.folder / name)
            got = []
            reader = threading.Thread(target=lambda: got.append((self.folder / name).read_bytes()))
            reader.start()
            out, _ = self.draw("x", "-o", name)
            reader.join()
            self.assertTrue(got[0].startswith(head))
            self.assertEqual(out.decode(), f"{name}\n")
        self.refused(2, "takes one picture", "generate", "x", *TINY, "-o", "f", "--num-images", "2")
        status, _, err = self.run_command("generate", "x", "-q", *TINY, "-o", "f")
        self.assertEqual((status, err), (1, "perfuse: f: can't be written: nobody reads the other end\n"))

    def test_format(self):
        self.draw("x", "-o", "a", "--format", "jpg")
        self.assertEqual(self.bytes_of("a")[:3], b"\xff\xd8\xff")
        self.draw("x", "--format", "jpeg")
        self.assertEqual(self.files(), ["a", "x.jpg"])
        self.refused(2, '".png" is not one of --format jpeg', "generate", "x", *TINY, "-o", "a.png", "--format", "jpeg")
        self.refused(2, "--format: expected png or jpeg", "generate", "x", *TINY, "--format", "webp")
        self.refused(2, "no suffix", "generate", "x", *TINY, "-o", "b")
        self.draw("--like", "x.jpg", "-o", "c.png")  # the format is not a setting of the picture

    def test_folders(self):
        (self.folder / "d.x").mkdir()
        for name in ("d.x", "d.x/", "d.x/."):
            self.draw("a star", "-o", name)
        out, _ = self.draw("a star", "-o", "d.x", "--num-images", "2")
        self.assertEqual(out.decode(), "d.x/a-star-4.png\nd.x/a-star-5.png\n")
        self.assertEqual(self.files(), ["d.x"])
        self.refused(1, "absent/: no such folder", "generate", "x", *TINY, "-o", "absent/")
        self.refused(1, "a-star.png/: is not a folder", "generate", "x", *TINY, "-o", "d.x/a-star.png/")


class ChosenNames(CommandTest):
    def test_runs_at_once_keep_every_picture(self):
        runs = [self.start("generate", "a star", *TINY, "--seed", str(seed)) for seed in range(8)]
        names = {}
        for seed, run in enumerate(runs):
            out, err = run.communicate(timeout=300)
            self.assertEqual(run.returncode, 0, err)
            names[seed] = out.decode().strip()
            self.assertIn(f"{names[seed]}: ", err.decode())
        self.assertEqual(sorted(names.values()), self.files())
        self.assertEqual(len(self.files()), 8)
        for seed, name in names.items():
            self.assertEqual(png_text(self.bytes_of(name))["seed"], str(seed))

    def test_a_file_that_appears_while_drawing_stays(self):
        process = self.start("generate", "a star", *TINY, "--steps", "400")
        process.stderr.readline()  # denoising begins
        (self.folder / "a-star.png").write_bytes(b"mine")
        os.symlink("nowhere", self.folder / "a-star-2.png")
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(out, b"a-star-3.png\n")
        self.assertEqual(self.bytes_of("a-star.png"), b"mine")
        self.assertEqual(self.files(), ["a-star-2.png", "a-star-3.png", "a-star.png"])

    def test_a_name_that_a_later_request_gives_is_left_to_it(self):
        (self.folder / "r.jsonl").write_text('{"prompt": "x"}\n{"prompt": "y", "output": "x.png"}')
        out = self.succeed("generate", "--request", "r.jsonl", *TINY)
        self.assertEqual(out, "x-2.png\nx.png\n")

    def test_a_killed_run_leaves_nothing(self):
        process = self.start("generate", "a star", *TINY, "--steps", "900", "--height", "256", "--width", "256")
        process.stderr.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertEqual(self.files(), [])


class PromptFiles(CommandTest):
    def prompt_of(self, *arguments, **options):
        self.succeed("generate", *TINY, "-o", "a.png", *arguments, **options)
        return png_text(self.bytes_of("a.png"))["prompt"]

    def test_files_and_streams(self):
        (self.folder / "p.txt").write_bytes("\ufeffa café\nat night\r\n".encode())
        self.assertEqual(self.prompt_of("--prompt-file", "p.txt"), "a café\nat night")
        self.assertEqual(self.prompt_of("--prompt-file", "-", text="a star\n"), "a star")
        self.assertEqual(self.prompt_of("--prompt-file", "/dev/stdin", text="a star\n"), "a star")
        self.assertEqual(self.prompt_of("-", text="a star"), "a star")
        self.assertEqual(self.prompt_of("--", "-", text="a star"), "a star")
        (self.folder / "r.json").write_text('{"prompt": "from the request"}')
        self.assertEqual(self.prompt_of("--request", "r.json", "--prompt-file", "p.txt"), "a café\nat night")
        read, write = os.pipe()
        os.write(write, b"a tree\n")
        os.close(write)
        self.assertEqual(self.prompt_of("--prompt-file", f"/dev/fd/{read}", pass_fds=(read,)), "a tree")
        os.close(read)

    def test_mistakes(self):
        (self.folder / "p.txt").write_bytes(b"caf\xe9")
        (self.folder / "empty.txt").write_bytes(b"\n")
        (self.folder / "big.txt").write_bytes(b"x" * 3_000_000)
        os.mkfifo(self.folder / "fifo")
        cases = [
            (2, "p.txt: prompt: not valid UTF-8 at byte 3", "--prompt-file", "p.txt"),
            (2, "empty.txt: empty", "--prompt-file", "empty.txt"),
            (2, "standard input: empty", "-"),
            (1, "big.txt: has 3 MB, expected at most", "--prompt-file", "big.txt"),
            (1, "fifo: is a FIFO", "--prompt-file", "fifo"),
            (1, "absent.txt", "--prompt-file", "absent.txt"),
            (2, '--prompt-file: there is the prompt "x" as well', "x", "--prompt-file", "p.txt"),
            (2, "only one can be read from standard input", "--prompt-file", "-", "--request", "-"),
            (2, "only one can be read from standard input", "-", "--request", "/dev/stdin"),
        ]
        for status, expected, *arguments in cases:
            with self.subTest(arguments):
                self.refused(status, expected, "generate", *TINY, *arguments)

    def test_a_terminal(self):
        primary, secondary = pty.openpty()
        process = subprocess.Popen([os.environ["PERFUSE_COMMAND"], "generate", "-", *map(str, TINY), "-o", "a.png"], cwd=self.folder,
                                   stdin=secondary, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(secondary)
        self.assertIn(b"reading standard input from the terminal", process.stderr.readline())
        os.write(primary, b"a star\n\x04")
        _, err = process.communicate(timeout=60)
        os.close(primary)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(png_text(self.bytes_of("a.png"))["prompt"], "a star")


if __name__ == "__main__":
    unittest.main()
