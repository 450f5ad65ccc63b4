"""Mistakes, broken files and signals: one line, the right status, no output touched."""
import json
import os
import shutil
import signal
import struct
import subprocess
import time
import unittest

from support import MODEL, CommandTest


class Usage(CommandTest):
    def test_command_line(self):
        cases = [
            ((), "no command given"),
            (("genrate", "x"), 'unknown command "genrate"; did you mean generate?'),
            (("a red apple",), 'perfuse generate "PROMPT"'),
            (("generate",), "no prompt"),
            (("generate", "a", "red", "apple"), "in quotes"),
            (("generate", "x", "--stpes", "3"), 'unknown option "--stpes"; did you mean --steps?'),
            (("generate", "x", "--steps"), "--steps"),
            (("generate", "x", "--steps", "ten"), '--steps: expected an integer, found "ten"'),
            (("generate", "x", "--seed", "-1"), "--seed: expected an integer from 0"),
            (("generate", "x", "--seed", "18446744073709551616"), "64 bits"),
            (("generate", "x", "--guidance-scale", "much"), "--guidance-scale: expected a number"),
            (("generate", "x", "--threads", "0"), "--threads: expected 1 to"),
            (("generate", "x", "--device", "gpu"), "gpu"),
            (("generate", "x", "--dtype", "f64"), "--dtype: expected f32, bf16 or f16"),
            (("generate", "x", "--granularity", "tiny"), "--granularity: expected op, block or whole"),
            (("generate", "x", "--cfg", "off"), "--cfg: expected automatic"),
            (("generate", "x", "--tap", "vae.decoder"), "--dump-tensors"),
            (("generate", "x", "--json=maybe"), "json"),
            (("generate", "-", "--request", "-"), "standard input"),
            (("devices", "x"), 'unexpected "x"'),
            (("inspect", "--format", "dot"), "--graph"),
            (("inspect", "--graph", "vae", "--format", "svg"), "--format: expected text or dot"),
            (("completions",), "bash, zsh or fish"),
        ]
        for arguments, expected in cases:
            with self.subTest(arguments):
                self.refused(2, expected, *arguments)

    def test_values_that_no_model_takes(self):
        cases = [
            (("--height", "0"), "height"), (("--height", "-8"), "height"), (("--width", "513"), "width is 513"),
            (("--width", "100000"), "width is 100000"), (("--height", "9223372036854775807"), "height"),
            (("--steps", "0"), "--steps: 0"), (("--steps", "100000"), "1000"), (("--steps", "-1"), "--steps"),
            (("--guidance-scale", "nan"), "--guidance-scale: nan"), (("--guidance-scale", "inf"), "--guidance-scale"),
            (("--num-images", "0"), "num_images_per_prompt"), (("--num-images", "2000000000"), "num_images_per_prompt"),
            (("--max-sequence-length", "0"), "--max-sequence-length"),
            (("--scheduler", "EulerDiscret"), "EulerDiscreteScheduler"), (("--seed", "1,2"), "--seed: a list of 2"),
            (("--timesteps", "5,999"), "timesteps"), (("--sigmas", "nan"), "sigmas"),
        ]
        for arguments, expected in cases:
            with self.subTest(arguments):
                self.refused(2, expected, "generate", "x", "--no-resolution-binning", *arguments)

    def test_prompts(self):
        self.refused(2, "prompt: not valid UTF-8 at byte 3", "generate", b"caf\xe9")
        self.refused(2, "standard input: more than 2.1 MB", "generate", "-", text="x" * 3_000_000)
        # Long is no mistake: what is over the limit of tokens is cut.
        status, _, err = self.run_command("generate", "-", "-o", "a.png", "--steps", "1", text="apple " * 170_000)
        self.assertEqual(status, 0, err)

    def test_requests(self):
        cases = [
            ("{", 2, "r.json: line 1"),
            ("[]", 2, "expected an object"),
            ('{"prompt": "x", "steps": 3}', 2, 'r.json: unknown field "steps"; known: prompt, negative_prompt, num_inference_steps'),
            ('{"prompt": "x", "height": "a"}', 2, "r.json: height: expected an integer"),
            ('{"prompt": "x", "image": "in.png"}', 1, "r.json: image: "),
            ('{"prompt": "x", "num_inference_steps": 0}', 2, "r.json: num_inference_steps"),
            ('{"prompt": "x", "guidance_scale": NaN}', 2, "guidance_scale"),
            ('{"prompt": "x", "scheduler": {"class": "Nonesuch"}}', 2, "Nonesuch"),
            ('{"prompt": "x", "scheduler": {"bta_end": 1}}', 2, "beta_end"),
            ('{"prompt": "x", "latents": {"file": "absent.safetensors"}}', 1, "absent.safetensors"),
            ('{"prompt": "x"}\n{"prompt": "y", "sed": 1}', 2, "r.json:2: unknown field"),
        ]
        for text, status, expected in cases:
            (self.folder / "r.json").write_text(text)
            with self.subTest(text):
                self.refused(status, expected, "generate", "--request", "r.json")
        self.refused(1, "absent.json", "generate", "--request", "absent.json")
        (self.folder / "r.json").write_text('{"prompt": "x"}\n{"prompt": "y"}')
        self.refused(2, "takes one call", "generate", "--request", "r.json", "--dump-tensors", "d.safetensors")

    def test_like(self):
        (self.folder / "a.png").write_text("<html>")
        self.refused(1, "a.png", "generate", "--like", "a.png")
        self.refused(1, "absent.png", "generate", "--like", "absent.png")


class Files(CommandTest):
    def test_outputs_are_checked_first(self):
        os.symlink("loop.png", self.folder / "loop.png")
        cases = [
            (2, ".gif", "-o", "a.gif"), (2, "--output", "-o", ""), (1, "absent", "-o", "absent/a.png"),
            (1, "absent/: no such folder", "-o", "absent/"), (1, "loop", "-o", "loop.png"), (1, "/proc", "-o", "/proc/a.png"),
            (2, ".safetensors", "--dump-tensors", "d.txt"), (1, "absent", "--dump-tensors", "absent/d.safetensors"),
        ]
        for status, expected, *arguments in cases:
            with self.subTest(arguments):
                # A model that is not there: the output is looked at before it.
                self.refused(status, expected, "generate", "x", "-m", self.folder, *arguments)

    def test_an_output_that_is_refused_is_not_touched(self):
        (self.folder / "a.png").write_bytes(b"mine")
        self.refused(2, "--steps", "generate", "x", "-o", "a.png", "--steps", "0")
        self.assertEqual(self.bytes_of("a.png"), b"mine")

    def test_full_disk(self):
        os.symlink("/dev/full", self.folder / "a.png")
        self.refused(1, "a.png: can't be written: the disk is full", "generate", "x", "-q", "-o", "a.png", "--steps", "1")
        with open("/dev/full", "wb") as full:
            status, _, err = self.run_command("devices", stdout=full)
        self.assertEqual(status, 1)
        self.assertRegex(err, r"\Aperfuse: standard output: [^\n]*\n\Z")

    def test_models(self):
        self.refused(1, "no such folder", "generate", "x", "-m", "absent/model")
        self.refused(1, "model_index.json", "generate", "x", "-m", self.folder)
        self.refused(1, "no such folder", "inspect", "absent/model")

    def test_broken_models(self):
        copy = self.folder / "model"
        weights = copy / "transformer/diffusion_pytorch_model.safetensors"
        config = copy / "transformer/config.json"

        def with_layers(number):
            config.write_text(config.read_text().replace('"num_layers": 6', f'"num_layers": {number}'))

        cases = [
            (weights.unlink, "transformer: has no weights"),
            (lambda: weights.write_bytes(b""), "is empty"),
            (lambda: weights.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"), "Git LFS pointer"),
            (lambda: weights.write_text("<!DOCTYPE html><html></html>"), "HTML"),
            (lambda: weights.write_bytes(weights.read_bytes()[:-1]), "cut short"),
            (lambda: (weights.unlink(), weights.mkdir()), "is a folder"),
            (lambda: (weights.unlink(), os.mkfifo(weights)), "is a FIFO"),
            (lambda: (weights.unlink(), os.symlink(weights.name, weights)), "loop"),
            (config.unlink, "config.json: can't be read"),
            (lambda: config.write_text('{"num_layers": "six"}'), 'num_layers: expected an integer from 1 to 1000, found "six"'),
            (lambda: with_layers(1000000000), "num_layers: expected an integer from 1 to 1000"),
            (lambda: with_layers(7), "21 weights do not fit"),
            (lambda: (copy / "model_index.json").write_text('{"_class_name": "NonesuchPipeline"}'), "NonesuchPipeline"),
            (lambda: (copy / "model_index.json").write_text("{"), "model_index.json: line 1"),
        ]
        for damage, expected in cases:
            with self.subTest(expected):
                shutil.copytree(MODEL, copy)
                damage()
                self.refused(1, expected, "generate", "x", "-m", copy, "-q", "--steps", "1")
                shutil.rmtree(copy)


    def test_a_tensor_that_the_model_does_not_use_is_said(self):
        copy = self.folder / "model"
        weights = copy / "transformer/diffusion_pytorch_model.safetensors"
        shutil.copytree(MODEL, copy)
        data = weights.read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + size])
        end = len(data) - 8 - size
        header["pos_embed.extra"] = {"dtype": "F32", "shape": [1], "data_offsets": [end, end + 4]}
        text = json.dumps(header).encode()
        weights.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size:] + bytes(4))
        _, _, err = self.run_command("generate", "x", "-m", copy, "-o", "a.png", "--steps", "1")
        self.assertIn("model/transformer: PixArtTransformer2DModel doesn't use these tensors: pos_embed.extra", err)
        self.assertIn("a.png", self.files())


class Signals(CommandTest):
    LONG = ("generate", "x", "--steps", "900", "--height", "512", "--width", "512", "--no-resolution-binning")

    def stop(self, *signals):
        process = self.start(*self.LONG, "-o", "a.png", "--dump-tensors", "d.safetensors")
        self.assertIn(b"text_encoder", process.stderr.readline())  # denoising begins
        for number in signals:
            process.send_signal(number)
        begin = time.monotonic()
        _, err = process.communicate(timeout=120)
        self.assertLess(time.monotonic() - begin, 60)
        self.assertEqual(self.files(), [])
        return process.returncode, err.decode()

    def test_interrupt(self):
        status, err = self.stop(signal.SIGINT)
        self.assertEqual(status, 130)
        self.assertRegex(err, r"perfuse: stopped by SIGINT; nothing was written\n\Z")

    def test_terminate(self):
        status, err = self.stop(signal.SIGTERM)
        self.assertEqual(status, 143)
        self.assertIn("SIGTERM", err)

    def test_a_closed_pipe_ends_the_output_quietly(self):
        process = self.start("inspect", "--graph", "transformer", stdout=subprocess.PIPE)
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGPIPE)
        self.assertEqual(err, b"")


if __name__ == "__main__":
    unittest.main()
