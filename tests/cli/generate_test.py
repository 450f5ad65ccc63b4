"""perfuse generate from end to end: pictures, their text, batches, tensors."""
import json
import os
import pty
import unittest

from support import DATA, MODEL, CommandTest, png_size, png_text, safetensors_header

QUICK = ("--steps", "2")


class Pictures(CommandTest):
    def test_named_after_the_prompt_and_replacing_nothing(self):
        out = self.succeed("generate", "A red apple!", *QUICK)
        self.assertEqual(out, "a-red-apple.png\n")
        self.succeed("generate", "A red apple!", *QUICK)
        self.assertEqual(self.files(), ["a-red-apple-2.png", "a-red-apple.png"])
        self.assertEqual(png_size(self.bytes_of("a-red-apple.png")), (128, 128))

    def test_same_seed_same_bytes(self):
        for name in ("a.png", "b.png"):
            self.succeed("generate", "a rocket", "--seed", "7", "-o", name, *QUICK)
        self.assertEqual(self.bytes_of("a.png"), self.bytes_of("b.png"))
        self.succeed("generate", "a rocket", "--seed", "8", "-o", "b.png", *QUICK)  # replaces
        self.assertNotEqual(self.bytes_of("a.png"), self.bytes_of("b.png"))

    def test_jpeg(self):
        self.succeed("generate", "a rocket", "-o", "a.jpg", *QUICK)
        self.assertEqual(self.bytes_of("a.jpg")[:3], b"\xff\xd8\xff")

    def test_several(self):
        out = self.succeed("generate", "a tree", "--num-images", "2", "--seed", "1,2", "-o", "t-{:02}.png", *QUICK)
        self.assertEqual(out, "t-00.png\nt-01.png\n")
        self.assertEqual(png_text(self.bytes_of("t-01.png"))["seed"], "2")
        self.succeed("generate", "a tree", "--num-images", "2", "-o", "u.png", *QUICK)
        self.assertEqual(self.files(), ["t-00.png", "t-01.png", "u-0.png", "u-1.png"])

    def test_prompt_from_standard_input(self):
        self.succeed("generate", "-", "-o", "a.png", *QUICK, text="a red apple\n")
        self.assertEqual(png_text(self.bytes_of("a.png"))["prompt"], "a red apple")

    def test_prompts_that_look_like_something_else(self):
        for prompt in ("--help me", "inspect", "", "[1,2]", '"quoted"'):
            self.succeed("generate", *QUICK, "-o", "a.png", "--", prompt)
            self.assertEqual(png_text(self.bytes_of("a.png"))["prompt"], prompt)

    def test_quiet_says_nothing(self):
        status, out, err = self.run_command("generate", "a star", "--quiet", *QUICK)
        self.assertEqual((status, out, err), (0, "", ""))

    def test_variables_and_names_of_models(self):
        self.succeed("generate", "a star", "-m", "emoji-pixart", "-o", "a.png", "--seed", "1", *QUICK)
        self.succeed("generate", "a star", "-m", MODEL, "-o", "b.png", "--seed", "1", *QUICK)
        a, b = (png_text(self.bytes_of(name)) for name in ("a.png", "b.png"))
        self.assertEqual(a["model"], "emoji-pixart")
        self.assertEqual(b["model"], str(MODEL))

    def test_a_tiny_model_of_the_tests(self):
        self.succeed("generate", "a star", "-m", DATA / "models/tiny-pixart-sigma", "-o", "a.png", "--height", "64",
                     "--width", "32", "--no-resolution-binning", *QUICK)
        self.assertEqual(png_size(self.bytes_of("a.png")), (32, 64))


class Text(CommandTest):
    def test_what_a_picture_holds(self):
        self.succeed("generate", "a café", "--negative-prompt", "blur", "--seed", "18446744073709551615", "-o", "a.png", *QUICK)
        text = png_text(self.bytes_of("a.png"))
        self.assertEqual(text["prompt"], "a café")
        self.assertEqual(text["negative_prompt"], "blur")
        self.assertEqual(text["seed"], "18446744073709551615")
        self.assertRegex(text["Software"], r"^perfuse \d")
        self.assertIn("Steps: 2", text["parameters"])
        record = json.loads(text["perfuse"])
        self.assertEqual(record["request"]["num_inference_steps"], 2)
        self.assertEqual(record["settings"]["scheduler"]["_class_name"], "DPMSolverMultistepScheduler")
        self.assertEqual(record["run"]["device"], "cpu")

    def test_like_makes_the_same_bytes_anywhere(self):
        self.succeed("generate", "a rocket", "-o", "a.png", "--scheduler", "EulerDiscreteScheduler", *QUICK)
        (self.folder / "elsewhere").mkdir()
        self.succeed("generate", "--like", "../a.png", "-o", "b.png", folder=self.folder / "elsewhere")
        self.assertEqual(self.bytes_of("a.png"), self.bytes_of("elsewhere/b.png"))

    def test_like_for_one_of_several(self):
        self.succeed("generate", "a rocket", "--num-images", "3", "-o", "a.png", *QUICK)
        self.succeed("generate", "--like", "a-1.png", "-o", "b.png")
        self.assertEqual(self.bytes_of("a-1.png"), self.bytes_of("b.png"))
        self.assertEqual(len(self.files()), 4)

    def test_like_of_a_jpeg(self):
        self.succeed("generate", "a rocket", "-o", "a.jpg", *QUICK)
        self.succeed("generate", "--like", "a.jpg", "-o", "b.jpg")
        self.assertEqual(self.bytes_of("a.jpg"), self.bytes_of("b.jpg"))

    def test_options_win_over_the_picture(self):
        self.succeed("generate", "a rocket", "-o", "a.png", "--seed", "3", *QUICK)
        self.succeed("generate", "a star", "--like", "a.png", "-o", "b.png", "--steps", "1")
        text = png_text(self.bytes_of("b.png"))
        self.assertEqual((text["prompt"], text["seed"]), ("a star", "3"))
        self.assertEqual(json.loads(text["perfuse"])["request"]["num_inference_steps"], 1)


class Results(CommandTest):
    def test_json(self):
        out = self.succeed("generate", "a star", "--json", "--explain", "-o", "a.png", "--seed", "5", *QUICK)
        self.assertEqual(out.count("\n"), 1)
        result = json.loads(out)
        self.assertEqual(result["files"], ["a.png"])
        self.assertEqual(result["settings"]["seed"], 5)
        self.assertEqual(result["settings"]["num_inference_steps"], 2)
        self.assertEqual(result["run"]["dtype"], "f32")
        self.assertLessEqual({"load", "text_encoder", "denoise", "vae", "save", "total"}, set(result["seconds"]))
        self.assertGreater(result["peak_memory"]["resident_bytes"], 1_000_000)
        self.assertGreater(result["peak_memory"]["device_bytes"], 1000)
        self.assertGreater(result["executables_compiled"], 0)
        self.assertEqual(result["host_actions"], 0)
        self.assertEqual(result["warnings"], [])
        names = [component["component"] for component in result["explain"]]
        self.assertLessEqual({"text_encoder", "transformer", "vae"}, set(names))

    def test_explain(self):
        out = self.succeed("generate", "a star", "--explain", "-o", "a.png", *QUICK)
        for expected in ("PixArtSigmaPipeline on cpu", "granularity: block", "transformer on cpu", "kernels:", "peak memory"):
            self.assertIn(expected, out)

    def test_dump_tensors(self):
        self.succeed("generate", "a star", "-o", "a.png", "--dump-tensors", "d.safetensors", "--tap",
                     "transformer.transformer_blocks.0", "--tap", "vae.decoder.conv_in", *QUICK)
        shapes = {key: entry["shape"] for key, entry in safetensors_header(self.bytes_of("d.safetensors")).items()}
        for key in ("input_ids", "prompt_embeds", "prompt_attention_mask", "negative_prompt_embeds",
                    "negative_prompt_attention_mask", "sigmas", "transformer.transformer_blocks.0"):
            self.assertIn(key, shapes)
        self.assertEqual(shapes["timesteps"], [2])
        for key in ("latents_initial", "model_output.step0", "latents.step0", "latents.step1", "latents_final"):
            self.assertEqual(shapes[key], [1, 4, 16, 16], key)
        self.assertEqual(shapes["image"], [1, 128, 128, 3])
        self.assertEqual(shapes["vae.decoder.conv_in"][2:], [16, 16])

    def test_latents_from_a_dump(self):
        self.succeed("generate", "a star", "-o", "a.png", "--seed", "1", "--dump-tensors", "d.safetensors", *QUICK)
        request = {"prompt": "a star", "seed": 1, "num_inference_steps": 2, "output": "b.png",
                   "latents": {"file": "d.safetensors", "key": "latents_initial"}}
        (self.folder / "r.json").write_text(json.dumps(request))
        self.succeed("generate", "--request", "r.json", "--dump-tensors", "e.safetensors")
        first, second = (self.bytes_of(name) for name in ("d.safetensors", "e.safetensors"))
        self.assertEqual(first, second)

    def test_terminal(self):
        primary, secondary = pty.openpty()
        process = self.start("generate", "a star", "-o", "a.png", *QUICK, stdout=secondary,
                             environment={"TERM": "xterm-256color", "COLORTERM": "truecolor"})
        os.close(secondary)
        shown = b""
        try:
            while chunk := os.read(primary, 65536):
                shown += chunk
        except OSError:  # the other end is closed
            pass
        self.assertEqual(process.wait(timeout=60), 0, process.stderr.read())
        process.communicate()
        os.close(primary)
        self.assertIn("▀".encode(), shown)


class Requests(CommandTest):
    def write(self, name, *requests):
        (self.folder / name).write_text("\n".join(json.dumps(request) for request in requests))

    def test_fields_have_diffusers_names(self):
        self.write("r.json", {"prompt": ["a star", "a tree"], "negative_prompt": None, "num_inference_steps": 1, "seed": [3, 4],
                              "guidance_scale": 2.5, "scheduler": {"class": "EulerDiscreteScheduler", "beta_end": 0.012},
                              "output": "r-{}.png"})
        result = json.loads(self.succeed("generate", "--request", "r.json", "--json"))
        self.assertEqual(result["files"], ["r-0.png", "r-1.png"])
        self.assertEqual(result["settings"]["scheduler"]["beta_end"], 0.012)
        self.assertEqual(png_text(self.bytes_of("r-1.png"))["prompt"], "a tree")
        self.assertEqual(png_text(self.bytes_of("r-1.png"))["seed"], "4")

    def test_request_and_options_agree(self):
        self.write("r.json", {"prompt": "a star", "num_inference_steps": 9, "seed": 3})
        self.succeed("generate", "--request", "r.json", "-o", "a.png", *QUICK)
        self.succeed("generate", "a star", "--seed", "3", "-o", "b.png", *QUICK)
        self.assertEqual(self.bytes_of("a.png"), self.bytes_of("b.png"))

    def test_json_lines_are_a_batch(self):
        self.write("r.jsonl", {"prompt": "a star"}, {"prompt": "a tree", "seed": 1}, {"prompt": "a star"})
        out = self.succeed("generate", "--request", "r.jsonl", "--json", *QUICK)
        results = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([result["files"] for result in results], [["a-star.png"], ["a-tree.png"], ["a-star-2.png"]])
        self.assertEqual(results[0]["executables_compiled"], results[2]["executables_compiled"])

    def test_standard_input(self):
        self.succeed("generate", "--request", "-", *QUICK, text='{"prompt": "a star"}')
        self.assertEqual(self.files(), ["a-star.png"])


if __name__ == "__main__":
    unittest.main()
